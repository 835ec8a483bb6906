#include "core/infer/quantization/layer_trial.h"

#include "core/exec/trial.h"
#include "core/exec/trial_op.h"
#include "core/ops/quantization/quantize.h"
#include "core/ops/quantization/quantized_conv2d.h"
#include "core/ops/quantization/quantized_linear.h"

#include <limits>

namespace ptrain {
namespace {

std::size_t at(int input) { return static_cast<std::size_t>(input); }

/// A kernel run once on host memory, which that of the backend is where it computes in 8 bits.
void run_once(Backend& backend, const Op& op, const std::vector<TensorDesc>& inputs, const std::vector<void*>& given,
              void* result) {
  KernelOptions options;
  options.exhaustive_search = false;
  const std::vector<TensorDesc> outputs = op.infer(inputs);
  const std::unique_ptr<Kernel> kernel = backend.make_kernel({op, inputs, outputs, options});
  const DeviceBuffer workspace(backend, kernel->workspace_bytes());
  void* const made[] = {result};
  kernel->run({given, made, workspace.data()});
}

std::unique_ptr<Op> with_real_result(const Node& layer, const QuantizedFormat& x) {
  if (layer.op->type() == "linear") {
    return std::make_unique<QuantizedLinear>(
        QuantizedLinearAttributes{static_cast<const Linear&>(*layer.op).attrs().activation, x});
  }
  const auto& conv = static_cast<const Conv2d&>(*layer.op);
  return std::make_unique<QuantizedConv2d>(QuantizedConv2dAttributes{conv.attrs(), conv.activation(), x});
}

}  // namespace

LayerTrial::LayerTrial(Backend& backend, const DeployedModel& precise, const Node& layer)
    : backend_(backend), graph_(precise.last_plan().graph()), plan_(precise.last_plan()), layer_(layer) {
  const Value& w = graph_.value(layer.inputs[at(Linear::w)]);
  weights_ = quantize_weights(precise.variables().read_f32(w.name), w.desc.shape[0]);
  if (backend.int8_arithmetic() == Int8Arithmetic::saturating) keep_from_saturating(weights_);
  const bool has_bias = layer.inputs.size() > at(Linear::bias) && layer.inputs[at(Linear::bias)] != no_value;
  if (has_bias) bias_ = precise.variables().read_f32(graph_.value(layer.inputs[at(Linear::bias)]).name);
}

std::span<float> LayerTrial::values(ValueId id) const {
  const Value& value = graph_.value(id);
  return {static_cast<float*>(const_cast<void*>(plan_.output(value.name))),
          static_cast<std::size_t>(value.desc.count())};
}

double LayerTrial::relative_error(const QuantizedFormat& format) const {
  const ValueId x = layer_.inputs[at(Linear::x)], w = layer_.inputs[at(Linear::w)], y = layer_.outputs.front();
  const TensorDesc channels{DType::f32, Shape{graph_.desc(w).shape[0]}};
  std::vector<std::uint8_t> integers(values(x).size());  // or s8: as wide
  run_once(backend_, Quantize(format), {graph_.desc(x)}, {values(x).data()}, integers.data());
  std::vector<TensorDesc> descs{{format.dtype, graph_.desc(x).shape},
                                {DType::s8, graph_.desc(w).shape},
                                channels,
                                bias_.empty() ? absent_input() : channels};
  std::vector<void*> given{integers.data(), const_cast<std::int8_t*>(weights_.values.data()),
                           const_cast<float*>(weights_.scales.data()),
                           bias_.empty() ? nullptr : const_cast<float*>(bias_.data())};
  if (layer_.inputs.size() > at(Conv2d::residual)) {
    descs.push_back(graph_.desc(layer_.inputs[at(Conv2d::residual)]));
    given.push_back(values(layer_.inputs[at(Conv2d::residual)]).data());
  }
  const std::span<const float> expected = values(y);
  std::vector<float> result(expected.size());
  run_once(backend_, *with_real_result(layer_, format), descs, given, result.data());
  double changed = 0, whole = 0;
  for (std::size_t i = 0; i < expected.size(); ++i) {
    const double difference = static_cast<double>(result[i]) - static_cast<double>(expected[i]);
    changed += difference * difference;
    whole += static_cast<double>(expected[i]) * static_cast<double>(expected[i]);
  }
  return whole > 0 ? changed / whole : 0;
}

namespace {

/// A node by itself, weights packed as in a deployed model.
std::unique_ptr<TrialOp> make_trial(Backend& backend, const Node& node, const std::vector<TensorDesc>& inputs) {
  KernelOptions options;
  options.exhaustive_search = false;
  options.constant_weights = true;
  return std::make_unique<TrialOp>(backend, node.op, inputs, options);
}

std::vector<TensorDesc> cast_inputs(const Graph& graph, const Node& node, DType dtype) {
  std::vector<TensorDesc> inputs = graph.input_descs(node);
  for (std::size_t i = 0; i < inputs.size(); ++i) {
    if (is_floating(inputs[i].dtype) && node.op->amp_casts_input(static_cast<int>(i))) inputs[i].dtype = dtype;
  }
  return inputs;
}

/// Both sampled by turns, several trials' best: a busy machine disturbs one and the other alike.
LayerSeconds time_pair(Backend& backend, const std::function<void()>& real, const std::function<void()>& int8) {
  constexpr int trials = 3;
  const std::unique_ptr<LapTimer> timer = backend.make_lap_timer();
  const std::vector<TrialLaunch> launches{real, int8};
  LayerSeconds best{std::numeric_limits<double>::infinity(), std::numeric_limits<double>::infinity()};
  for (int i = 0; i < trials; ++i) {
    const std::vector<double> seconds = time_launches(*timer, launches);
    best = {std::min(best.real, seconds[0]), std::min(best.int8, seconds[1])};
  }
  return best;
}

}  // namespace

std::map<std::string, LayerSeconds> time_layers(Backend& backend, const Graph& graph, const Graph& quantized,
                                                const AmpOptions& real) {
  const DType dtype = real.level == AmpLevel::O0 ? DType::f32 : real.dtype;
  std::map<std::string, const Node*> in_real;
  for (const Node& node : graph.nodes()) in_real[node.name] = &node;
  std::map<std::string, LayerSeconds> layers, known;  // by name; by problem
  std::set<ValueId> counted;
  for (const Node& node : quantized.nodes()) {
    if (!node.op->type().starts_with("quantized_")) continue;
    const ValueId x = node.inputs.front();
    const NodeId made = quantized.value(x).producer;
    const bool quantizes = quantized.node(made).op->type() == "quantize" && counted.insert(x).second;
    const Node& before = *in_real.at(node.name);
    const std::vector<TensorDesc> inputs = cast_inputs(graph, before, dtype);
    const std::string problem =
        fmt::format("{} {} {} {}", describe_problem({*before.op, inputs, graph.output_descs(before)}),
                    quantized.desc(x).to_string(), quantized.desc(node.outputs.front()).to_string(), quantizes);
    const auto [found, added] = known.try_emplace(problem);
    if (added) {
      const auto real_trial = make_trial(backend, before, inputs);
      const auto int8_trial = make_trial(backend, node, quantized.input_descs(node));
      std::unique_ptr<TrialOp> quantize;
      if (quantizes) {
        quantize = make_trial(backend, quantized.node(made), cast_inputs(quantized, quantized.node(made), dtype));
      }
      found->second = time_pair(
          backend, [&] { real_trial->run(); },
          [&] {
            if (quantize) quantize->run();
            int8_trial->run();
          });
    }
    layers[node.name] = found->second;
  }
  return layers;
}

}  // namespace ptrain

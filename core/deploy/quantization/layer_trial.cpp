#include "core/deploy/quantization/layer_trial.h"

#include "core/ops/quantization/quantize.h"
#include "core/ops/quantization/quantized_conv2d.h"
#include "core/ops/quantization/quantized_linear.h"

namespace ptrain {
namespace {

std::size_t at(int input) { return static_cast<std::size_t>(input); }

/// Runs a kernel once on host memory, which the backend uses wherever it computes in 8 bits.
void run_once(Backend& backend, const Op& op, const std::vector<TensorDesc>& inputs, const std::vector<void*>& given,
              void* result) {
  KernelOptions options;
  options.exhaustive_search = false;
  const std::vector<TensorDesc> outputs = op.infer(inputs);
  const std::unique_ptr<Kernel> kernel = backend.kernels().make_kernel({op, inputs, outputs, options});
  const DeviceBuffer workspace(backend.memory(), kernel->workspace_bytes());
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
  if (backend.kernels().int8_arithmetic() == Int8Arithmetic::saturating) keep_from_saturating(weights_);
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
  std::vector<std::uint8_t> integers(values(x).size());  // or s8, of the same size
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

}  // namespace ptrain

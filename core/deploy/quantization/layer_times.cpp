#include "core/deploy/quantization/layer_times.h"

#include "core/base/signals.h"
#include "core/exec/benchmark_op.h"
#include "core/exec/kernel_timing.h"

#include <algorithm>
#include <limits>

namespace ptrain {

struct LayerTimes::Problem {
  std::string key;
  OpPtr op;
  std::vector<TensorDesc> inputs;

  /// With weights packed as in a deployed model.
  std::unique_ptr<BenchmarkOp> make_trial(Backend& backend) const {
    KernelOptions options;
    options.exhaustive_search = false;
    options.constant_weights = true;
    return std::make_unique<BenchmarkOp>(backend, op, inputs, options);
  }
};

namespace {

bool is_quantized_layer(const Node& node) { return node.op->type().starts_with("quantized_"); }

bool depends_on_scheme(const Graph& graph, const Node& node) {
  const std::string_view type = node.op->type();
  return is_quantized_layer(node) || type == "quantize" || type == "dequantize" || type == "max_pool2d" ||
         has_int8_form(graph, node);
}

/// Interleaves all samples and takes the best of several trials, so that other load on the machine affects all alike.
std::vector<double> time_interleaved(Stream& stream, const std::vector<KernelLaunch>& launches) {
  constexpr int trials = 3;
  const std::unique_ptr<LapTimer> timer = stream.make_lap_timer();
  std::vector<double> best(launches.size(), std::numeric_limits<double>::infinity());
  for (int i = 0; i < trials; ++i) {
    const std::vector<double> seconds = time_launches(*timer, launches);
    std::transform(best.begin(), best.end(), seconds.begin(), best.begin(),
                   [](double a, double b) { return std::min(a, b); });
  }
  return best;
}

}  // namespace

LayerTimes::LayerTimes(Backend& backend, const Graph& graph, const QuantizationScheme& scheme, const AmpOptions& real)
    : backend_(backend), graph_(graph), scheme_(scheme), real_(real.level == AmpLevel::O0 ? DType::f32 : real.dtype) {
  for (const Node& node : graph.nodes()) {
    if (scheme.layers.contains(node.name)) layers_[node.name] = &node;
  }
}

LayerTimes::Problem LayerTimes::make_problem(const Graph& graph, const Node& node) const {
  Problem problem{{}, node.op, graph.input_descs(node)};
  if (is_quantized_layer(node)) {  // scales do not affect the time
    const Node& layer = *layers_.at(node.name);
    problem.key = "8 bits " + describe_problem({*layer.op, graph_.input_descs(layer), graph_.output_descs(layer)});
  } else {
    for (std::size_t i = 0; i < problem.inputs.size(); ++i) {
      TensorDesc& input = problem.inputs[i];
      if (is_floating(input.dtype) && node.op->amp_casts_input(static_cast<int>(i))) input.dtype = real_;
    }
    const bool converts = node.op->type() == "quantize" || node.op->type() == "dequantize";
    problem.key = converts ? std::string(node.op->type())
                           : describe_problem({*node.op, problem.inputs, graph.output_descs(node)});
  }
  for (const TensorDesc& input : problem.inputs) problem.key += ' ' + input.to_string();
  problem.key += ' ' + graph.desc(node.outputs.front()).to_string();
  return problem;
}

double LayerTimes::seconds(const Problem& problem) {
  const auto [found, added] = known_.try_emplace(problem.key);
  if (added) {
    InterruptibleWork::check("while layers were timed");
    const auto trial = problem.make_trial(backend_);
    found->second = time_interleaved(backend_.stream(), {[&] { trial->run(); }}).front();
  }
  return found->second;
}

std::map<std::string, LayerSeconds> LayerTimes::by_layer() {
  const Graph quantized = quantize_layers(graph_, scheme_);
  std::map<std::string, LayerSeconds> layers;
  std::set<ValueId> counted;
  for (const Node& node : quantized.nodes()) {
    if (!is_quantized_layer(node)) continue;
    const Problem real = make_problem(graph_, *layers_.at(node.name)), int8 = make_problem(quantized, node);
    if (!known_.contains(real.key) || !known_.contains(int8.key)) {
      InterruptibleWork::check("while layers were timed");
      const auto real_trial = real.make_trial(backend_), int8_trial = int8.make_trial(backend_);
      const auto both = time_interleaved(backend_.stream(), {[&] { real_trial->run(); }, [&] { int8_trial->run(); }});
      known_[real.key] = both[0];
      known_[int8.key] = both[1];
    }
    LayerSeconds& layer = layers[node.name] = {known_.at(real.key), known_.at(int8.key)};
    const ValueId x = node.inputs.front();
    const Node& made = quantized.node(quantized.value(x).producer);
    if (made.op->type() == "quantize" && counted.insert(x).second) layer.int8 += seconds(make_problem(quantized, made));
  }
  return layers;
}

double LayerTimes::of_model(const std::set<std::string>& int8_layers) {
  scheme_.layers = int8_layers;
  const Graph graph = quantize_layers(graph_, scheme_);
  double sum = 0;
  for (const Node& node : graph.nodes()) {
    if (depends_on_scheme(graph, node)) sum += seconds(make_problem(graph, node));
  }
  return sum;
}

std::set<std::string> find_fastest_layers(const std::set<std::string>& layers, std::set<std::string> int8,
                                          const std::function<double(const std::set<std::string>&)>& of_model) {
  double least = of_model(int8);
  for (bool moved = true; moved;) {
    moved = false;
    for (const std::string& name : layers) {
      std::set<std::string> other = int8;
      if (other.erase(name) == 0) other.insert(name);
      const double seconds = of_model(other);
      if (!(seconds < least)) continue;
      least = seconds;
      int8 = std::move(other);
      moved = true;
    }
  }
  return int8;
}

}  // namespace ptrain

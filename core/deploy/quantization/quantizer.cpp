#include "core/deploy/quantization/quantizer.h"

#include "core/base/errors.h"
#include "core/base/signals.h"
#include "core/deploy/quantization/calibration.h"
#include "core/deploy/quantization/layer_times.h"
#include "core/deploy/quantization/layer_trial.h"
#include "core/io/safetensors.h"

#include <algorithm>
#include <cmath>

namespace ptrain {
namespace {

constexpr std::array methods{CalibrationMethod::minmax, CalibrationMethod::percentile, CalibrationMethod::mse};

class Quantizer {
 public:
  Quantizer(Backend& backend, const LoadedModel& opened, const DeployOptions& deploy, const QuantizeOptions& options,
            const ReportProgress& report_progress)
      : backend_(backend), opened_(opened), deploy_(deploy), options_(options), report_progress_(report_progress) {}

  QuantizedModel run(const InferenceDataset& calibration, const InferenceDataset& evaluation) {
    deploy_precise();
    report_progress_(fmt::format("calibrating {} layers on {} samples", layers_.size(), calibration.size()));
    const std::set<std::string> names = values_to_calibrate(precise_->graph(), names_of_layers());
    Calibration calibrated = calibrate(*precise_, names, calibration, options_.workers);
    choose_formats(calibrated);
    if (options_.layers == LayerChoice::faster) leave_slower_layers(calibrated.first);
    const Answers before = &evaluation == &calibration ? std::move(calibrated.answers)
                                                       : predict_all(*precise_, evaluation, options_.workers, {});
    QuantizedModel result;
    fit_to_accuracy(before, evaluation, result);
    result.report.method = result.record.method = enum_name(options_.method);
    result.report.calibration_hash = result.record.calibration_hash = calibrated.hash;
    result.report.calibration_samples = result.record.calibration_samples = calibration.size();
    fill(result.record);
    result.report.layers = std::move(layers_);
    return result;
  }

 private:
  /// Deploys the fp32 model, with the inputs and results of its layers readable.
  void deploy_precise() {
    const TrainedWeights weights = opened_.trained.weights();
    DeployOptions options = deploy_;
    options.amp.level = AmpLevel::O0;
    options.kernels.exhaustive_search = false;
    DeployedModel first(backend_, *opened_.model, *opened_.task, weights, options);
    const Graph& graph = first.graph();
    for (const Node& node : graph.nodes()) {
      if (!has_int8_form(graph, node)) continue;
      QuantizedLayer& layer = layers_.emplace_back();
      layer.name = node.name;
      layer.op = node.op->type();
      for (const ValueId id : node.inputs) {
        if (id != no_value && graph.value(id).storage == Storage::activation)
          options.readable.insert(graph.value(id).name);
      }
      options.readable.insert(graph.value(node.outputs.front()).name);
    }
    if (layers_.empty()) fail("{} has no convolution or linear layer to compute in 8 bits", opened_.model->name());
    options.readable.merge(values_to_calibrate(graph, names_of_layers()));
    precise_ = std::make_unique<DeployedModel>(backend_, *opened_.model, *opened_.task, weights, options);
  }

  std::set<std::string> names_of_layers() const {
    std::set<std::string> names;
    for (const QuantizedLayer& layer : layers_) {
      if (layer.left_because.empty()) names.insert(layer.name);
    }
    return names;
  }

  static const Node& find_node(const Graph& graph, const std::string& name) {
    return *std::find_if(graph.nodes().begin(), graph.nodes().end(),
                         [&](const Node& node) { return node.name == name; });
  }

  /// Chooses each value's format by the least error of the layers that read it, else by the value's own error.
  void choose_formats(const Calibration& calibrated) {
    precise_->run(calibrated.first);
    const Graph& graph = precise_->last_plan().graph();
    std::map<std::string, std::array<double, methods.size()>>
        of_value;  // per method, summed over the layers that read it
    std::map<std::string, std::array<double, methods.size()>> of_layer;
    for (const QuantizedLayer& layer : layers_) {
      InterruptibleWork::check("while formats were chosen");
      const Node& node = find_node(graph, layer.name);
      const std::string& read = graph.value(format_owner(graph, node.inputs.front())).name;
      const LayerTrial trial(backend_, *precise_, node);
      for (std::size_t i = 0; i < methods.size(); ++i) {
        const bool requested = options_.method == CalibrationMethod::automatic || options_.method == methods[i];
        if (!requested) continue;
        const double error = trial.relative_error(calibrated.values.at(read).format(methods[i]));
        of_layer[layer.name][i] = error;
        of_value[read][i] += error;
      }
    }
    for (const auto& [name, distribution] : calibrated.values) {
      const auto errors = of_value.find(name);
      CalibrationMethod method = options_.method;
      if (method == CalibrationMethod::automatic) {
        method = errors == of_value.end() ? CalibrationMethod::mse : methods[least(errors->second)];
      }
      chosen_[name] = method;
      scheme_.formats[name] = distribution.format(method);
    }
    for (QuantizedLayer& layer : layers_) {
      const std::string& read = graph.value(format_owner(graph, find_node(graph, layer.name).inputs.front())).name;
      layer.method = enum_name(chosen_.at(read));
      layer.input = scheme_.formats.at(read).to_string();
      layer.error = std::sqrt(of_layer.at(layer.name)[to_index(chosen_.at(read))]);
    }
  }

  static std::size_t least(const std::array<double, methods.size()>& errors) {
    return static_cast<std::size_t>(std::min_element(errors.begin(), errors.end()) - errors.begin());
  }
  static std::size_t to_index(CalibrationMethod method) {
    return static_cast<std::size_t>(std::find(methods.begin(), methods.end(), method) - methods.begin());
  }

  /// Leaves layers in float where that makes the whole model faster: values that stay integers need no conversion.
  void leave_slower_layers(const Batch& batch) {
    constexpr double worthwhile = 0.97;  // a smaller gain is noise
    report_progress_(fmt::format("timing {} layers", layers_.size()));
    scheme_.layers = names_of_layers();
    LayerTimes times(backend_, precise_->graph(), scheme_, deploy_.amp);
    const auto seconds = times.by_layer();
    std::set<std::string> faster_alone;
    for (QuantizedLayer& layer : layers_) {
      const LayerSeconds& of = seconds.at(layer.name);
      layer.real_ms = 1e3 * of.real;
      layer.int8_ms = 1e3 * of.int8;
      if (of.real >= worthwhile * of.int8) faster_alone.insert(layer.name);
    }
    const auto of_model = [&](const std::set<std::string>& int8) { return times.of_model(int8); };
    const auto from_all = find_fastest_layers(scheme_.layers, scheme_.layers, of_model);
    const auto from_alone = find_fastest_layers(scheme_.layers, faster_alone, of_model);
    const auto& foretold = of_model(from_alone) < of_model(from_all) ? from_alone : from_all;
    const std::set<std::string> fastest = choose_faster(foretold, scheme_.layers, batch);
    for (QuantizedLayer& layer : layers_) {
      if (fastest.contains(layer.name)) continue;
      layer.left_because =
          layer.int8_ms < layer.real_ms ? "faster in 8 bits alone, but not the whole model" : "not faster in 8 bits";
    }
  }

  /// The faster of two selections, timed as whole models: cache contents differ from those of layers timed alone.
  std::set<std::string> choose_faster(const std::set<std::string>& a, const std::set<std::string>& b,
                                      const Batch& batch) const {
    constexpr double round_seconds = 0.1;
    if (a.empty() || a == b) return a;
    const auto deployed = [&](const std::set<std::string>& layers) {
      QuantizationScheme scheme = scheme_;
      scheme.layers = layers;
      return std::make_unique<DeployedModel>(backend_, *precise_, scheme, deploy_);
    };
    const auto first = deployed(a), second = deployed(b);
    return compare_speed(*first, *second, batch, round_seconds).ratio > 1 ? b : a;
  }

  bool allowed(const QuantizeReport& report) const {
    constexpr double points = 100;
    if (report.metric) return points * (report.metric->before - report.metric->after) <= options_.max_drop + 1e-9;
    if (!report.accuracy) return report.logits.relative <= options_.max_logit_error;
    return points * (report.accuracy->before - report.accuracy->after) <= options_.max_drop + 1e-9;
  }

  /// Restores 1, 2, 4... layers with the largest error to float, at most half of the rest, until the loss is allowed.
  void fit_to_accuracy(const Answers& before, const InferenceDataset& evaluation, QuantizedModel& result) {
    for (std::size_t give_back = 1;; give_back *= 2) {
      scheme_.layers = names_of_layers();
      if (scheme_.layers.empty()) fail_without_layers(result.report);
      result.model = std::make_unique<DeployedModel>(backend_, *precise_, scheme_, deploy_);
      report_progress_(fmt::format("evaluating {} of {} layers in 8 bits on {} samples", scheme_.layers.size(),
                                   layers_.size(), evaluation.size()));
      const Answers after = predict_all(*result.model, evaluation, options_.workers, {});
      result.report.accuracy = pair_accuracy(before, after);
      result.report.metric = compare_metric(before, after);
      result.report.logits = compare_logits(before, after);
      if (allowed(result.report)) return;
      leave_worst(std::min(give_back, (scheme_.layers.size() + 1) / 2));
    }
  }

  void leave_worst(std::size_t count) {
    for (; count > 0; --count) {
      QuantizedLayer* worst = nullptr;
      for (QuantizedLayer& layer : layers_) {
        if (layer.left_because.empty() && (worst == nullptr || layer.error > worst->error)) worst = &layer;
      }
      if (worst == nullptr) return;
      worst->left_because = "costs accuracy";
    }
  }

  [[noreturn]] void fail_without_layers(const QuantizeReport& last) const {
    const bool slow = std::none_of(layers_.begin(), layers_.end(),
                                   [](const QuantizedLayer& layer) { return layer.left_because == "costs accuracy"; });
    if (slow) fail("no layer is faster in 8 bits on this machine; use --layers all to quantize for another machine");
    if (last.accuracy || last.metric) {
      fail("accuracy falls by more than {} points with any layer in 8 bits: allow more with --max-drop",
           options_.max_drop);
    }
    fail("logits change by more than {} with any layer in 8 bits: allow more with --max-logit-error",
         options_.max_logit_error);
  }

  void fill(QuantizationRecord& record) const {
    record.layers.assign(scheme_.layers.begin(), scheme_.layers.end());
    for (const std::string& name : values_to_calibrate(precise_->graph(), scheme_.layers)) {
      const QuantizedFormat& format = scheme_.formats.at(name);
      record.formats[name] = {std::string(to_string(format.dtype)), static_cast<double>(format.scale)};
    }
  }

  Backend& backend_;
  const LoadedModel& opened_;
  const DeployOptions& deploy_;
  const QuantizeOptions& options_;
  const ReportProgress& report_progress_;
  const InterruptibleWork interruptible_;
  std::unique_ptr<DeployedModel> precise_;
  std::vector<QuantizedLayer> layers_;
  QuantizationScheme scheme_;
  std::map<std::string, CalibrationMethod> chosen_;
};

}  // namespace

QuantizedModel quantize_model(Backend& backend, const LoadedModel& opened, const DeployOptions& deploy,
                              const QuantizeOptions& options, const InferenceDataset& calibration,
                              const InferenceDataset& evaluation, const ReportProgress& report_progress) {
  return Quantizer(backend, opened, deploy, options, report_progress).run(calibration, evaluation);
}

void save_quantized(const DeployedModel& model, const std::filesystem::path& path) {
  const Variables& variables = model.variables();
  std::vector<std::vector<std::byte>> storage(variables.entries().size());
  std::vector<NamedTensor> tensors;
  for (const auto& [name, entry] : variables.entries()) {
    if (is_low_precision(entry.desc.dtype)) continue;
    const auto bytes = variables.host_bytes(name, storage[tensors.size()]);
    tensors.push_back({name, entry.desc.dtype, entry.desc.shape, bytes});
  }
  write_safetensors(path, tensors);
}

}  // namespace ptrain

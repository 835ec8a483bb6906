// Post-training quantization: scales from calibration samples, layers that pay in speed and cost little accuracy.
#pragma once

#include "core/deploy/quantization/distribution.h"
#include "core/deploy/quantization/quantize_report.h"
#include "core/infer/inference.h"
#include "core/runtime/loaded_model.h"

namespace ptrain {

/// Which layers become 8-bit: those that are faster so on this machine, or all.
enum class LayerChoice { faster, all };
template <>
struct EnumNames<LayerChoice> {
  static constexpr std::array<std::string_view, 2> names{"faster", "all"};
};

struct QuantizeOptions {
  CalibrationMethod method = CalibrationMethod::automatic;
  LayerChoice layers = LayerChoice::faster;
  double max_drop = 0.3;         // points of accuracy, where true classes are known
  double max_logit_error = 0.1;  // LogitError::relative, where none is
  int workers = 2;               // threads that read inputs ahead
};

struct QuantizedModel {
  QuantizationRecord record;
  std::unique_ptr<DeployedModel> model;
  QuantizeReport report;  // all but model, out, bytes and speed
};

/// Tells what is going on, a line each.
using TellProgress = std::function<void(const std::string&)>;

/// Finds scales on `calibration`, and gives back layers to `deploy.amp`'s precision, those of the largest error first,
/// until what the quantized model loses on `evaluation` is allowed. Throws Error{failed} naming the input that cannot
/// be read or whose activations are not finite, or when no layer is left; Interrupted.
QuantizedModel quantize_model(Backend& backend, const LoadedModel& opened, const DeployOptions& deploy,
                              const QuantizeOptions& options, const InferenceDataset& calibration,
                              const InferenceDataset& evaluation, const TellProgress& tell);

/// The variables of a quantized model, which open_trained_model's weights() then names. Throws Error{failed} on I/O.
void save_quantized(const DeployedModel& model, const std::filesystem::path& path);

/// Both models by turns on one batch of `inputs`, at least four rounds of at least `seconds` each.
SpeedBeforeAndAfter compare_speed(DeployedModel& before, DeployedModel& after, const InferenceDataset& inputs,
                                  double seconds);
SpeedBeforeAndAfter compare_speed(DeployedModel& before, DeployedModel& after, const Batch& batch, double seconds);

/// `samples` of `inputs`, evenly spaced, so that of sorted classes each has its part; all where there are fewer.
std::unique_ptr<InferenceDataset> sample_evenly(const InferenceDataset& inputs, std::int64_t samples);

}  // namespace ptrain

// Post-training quantization: scales from calibration samples, for layers that gain speed at little cost in accuracy.
#pragma once

#include "core/deploy/quantization/distribution.h"
#include "core/deploy/quantization/quantize_report.h"
#include "core/infer/inference.h"
#include "core/runtime/loaded_model.h"

namespace ptrain {

/// Which layers become 8-bit: those that are faster on this machine, or all.
enum class LayerChoice { faster, all };
template <>
struct EnumNames<LayerChoice> {
  static constexpr std::array<std::string_view, 2> names{"faster", "all"};
};

struct QuantizeOptions {
  CalibrationMethod method = CalibrationMethod::automatic;
  LayerChoice layers = LayerChoice::faster;
  double max_drop = 0.3;         // points of accuracy, if labels are known
  double max_logit_error = 0.1;  // LogitError::relative, otherwise
  int workers = 2;               // threads that read inputs ahead
};

struct QuantizedModel {
  QuantizationRecord record;
  std::unique_ptr<DeployedModel> model;
  QuantizeReport report;  // without model, out, bytes and speed
};

/// Reports progress, one line at a time.
using ReportProgress = std::function<void(const std::string&)>;

/// Chooses scales on `calibration`, then restores layers to `deploy.amp`'s precision, largest error first, until the
/// quantized model's loss on `evaluation` is allowed. Throws Error{failed} naming an input that cannot be read or whose
/// activations are not finite, or when no layer is left; Interrupted.
QuantizedModel quantize_model(Backend& backend, const LoadedModel& opened, const DeployOptions& deploy,
                              const QuantizeOptions& options, const InferenceDataset& calibration,
                              const InferenceDataset& evaluation, const ReportProgress& report_progress);

/// Saves the variables of a quantized model, for open_trained_model's weights(). Throws Error{failed} on I/O.
void save_quantized(const DeployedModel& model, const std::filesystem::path& path);

/// Runs both models interleaved on one batch of `inputs`, at least four rounds of at least `seconds` each.
SpeedBeforeAndAfter compare_speed(DeployedModel& before, DeployedModel& after, const InferenceDataset& inputs,
                                  double seconds);
SpeedBeforeAndAfter compare_speed(DeployedModel& before, DeployedModel& after, const Batch& batch, double seconds);

/// `samples` of `inputs`, evenly spaced, so that sorted classes are represented in proportion; all if there are fewer.
std::unique_ptr<InferenceDataset> sample_evenly(const InferenceDataset& inputs, std::int64_t samples);

}  // namespace ptrain

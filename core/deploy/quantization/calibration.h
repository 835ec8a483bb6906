// Runs an fp32 model on calibration samples and collects the distributions of its values, and its predictions.
#pragma once

#include "core/deploy/quantization/distribution.h"
#include "core/deploy/quantization/quantize_report.h"
#include "core/infer/inference.h"

namespace ptrain {

/// Predicts every input. Calls `seen`, if given, after each batch. Throws Error{failed} naming an input that cannot be
/// read or whose scores are not finite, Interrupted.
Answers predict_all(DeployedModel& model, const InferenceDataset& inputs, int workers,
                    const std::function<void(const Batch&)>& seen);

struct Calibration {
  std::map<std::string, Distribution> values;  // by name
  Answers answers;
  Batch first;       // first batch
  std::string hash;  // hash of the samples
};

/// Collects the values `names`, which `precise` leaves readable.
Calibration calibrate(DeployedModel& precise, const std::set<std::string>& names, const InferenceDataset& inputs,
                      int workers);

}  // namespace ptrain

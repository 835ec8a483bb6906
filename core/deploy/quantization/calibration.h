// What a model in fp32 computes on calibration samples: the distributions of its values, and its answers.
#pragma once

#include "core/deploy/quantization/distribution.h"
#include "core/deploy/quantization/quantize_report.h"
#include "core/infer/inference.h"

namespace ptrain {

/// The model's answers to every input. Calls `seen`, if there is one, after each batch. Throws Error{failed} naming the
/// input that cannot be read or whose scores are not finite, Interrupted.
Answers predict_all(DeployedModel& model, const InferenceDataset& inputs, int workers,
                    const std::function<void(const Batch&)>& seen);

struct Calibration {
  std::map<std::string, Distribution> values;  // by name
  Answers answers;
  Batch first;       // of the batches
  std::string hash;  // of the samples
};

/// Of the values `names`, which `precise` leaves readable.
Calibration calibrate(DeployedModel& precise, const std::set<std::string>& names, const InferenceDataset& inputs,
                      int workers);

}  // namespace ptrain

// What a model in fp32 computes on calibration samples: the distributions of its values, and its answers.
#pragma once

#include "core/deploy/quantization/distribution.h"
#include "core/infer/inference.h"

namespace ptrain {

struct Answers {
  std::vector<float> logits;         // [N, classes]
  std::vector<std::int32_t> truths;  // [N], no_truth where there is none
};

/// The model's answers to every input. Calls `seen`, if there is one, after each batch. Throws Error{failed} naming the
/// input that cannot be read or whose logits are not finite, Interrupted.
Answers answer_all(DeployedModel& model, const InputSet& inputs, int workers,
                   const std::function<void(const Batch&)>& seen);

struct Calibration {
  std::map<std::string, Distribution> values;  // by name
  Answers answers;
  Batch first;       // of the batches
  std::string hash;  // of the samples
};

/// Of the values `names`, which `precise` leaves readable.
Calibration calibrate(DeployedModel& precise, const std::set<std::string>& names, const InputSet& inputs, int workers);

}  // namespace ptrain

// Copies a loader's batch into a plan's inputs, and what the plan makes of it out again.
#pragma once

#include "core/data/batch.h"
#include "core/exec/plan.h"

namespace ptrain {

/// Writes each of the batch's tensors into the plan's input of its name, where the plan has it. Tokens are packed where
/// it takes sequence offsets.
void feed(Plan& plan, const Batch& batch);

/// The outputs [N, ...] of those names of a plan's last run, real numbers as fp32; waits for it. All rows count.
Batch read_outputs(const Plan& plan, const std::vector<std::string>& names);
/// The same of a plan that has not run: zeros.
Batch empty_outputs(const Plan& plan, const std::vector<std::string>& names);

/// Tokens of one or several batches.
struct TokenCounts {
  std::int64_t valid = 0;     // of the samples
  std::int64_t computed = 0;  // padding included
};

/// Of a batch that `plan` runs; 0 of images.
TokenCounts count_tokens(const Plan& plan, const Batch& batch);

}  // namespace ptrain

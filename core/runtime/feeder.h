// Copies a loader's batch into a plan's inputs, and what the plan makes of it out again.
#pragma once

#include "core/data/batch.h"
#include "core/exec/plan.h"

namespace ptrain {

/// Writes each of the batch's tensors into the plan's input of its name, where the plan has it. Tokens are packed where
/// it takes sequence offsets.
void feed(Plan& plan, const Batch& batch);

/// The logits [N, classes] of a plan's last run, as fp32; waits for it.
std::vector<float> read_logits(const Plan& plan);

/// The last axis of the logits: of a row, or of each of its tokens.
std::int64_t count_logits(const Plan& plan);

/// Tokens of one or several batches.
struct TokenCounts {
  std::int64_t valid = 0;     // of the samples
  std::int64_t computed = 0;  // padding included
};

/// Of a batch that `plan` runs; 0 of images.
TokenCounts count_tokens(const Plan& plan, const Batch& batch);

}  // namespace ptrain

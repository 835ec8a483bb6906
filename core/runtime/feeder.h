// Copies a loader's batch into a plan's inputs, and the plan's outputs into a batch.
#pragma once

#include "core/data/batch.h"
#include "core/exec/plan.h"

namespace ptrain {

/// Copies each tensor of the batch to the plan's input of that name, if there is one. Tokens are packed if the plan has
/// sequence offsets. Images without placements are as large as the frame.
void feed(Plan& plan, const Batch& batch);
/// The same of some rows, of a batch without tokens.
struct RowRange {
  std::int64_t first, count;
};
void feed(Plan& plan, const Batch& batch, RowRange rows);

/// Copies the tensors of the batch to the plan's inputs of their names after next_input, of which there must be some;
/// -1 where the batch has none.
void feed_next_inputs(Plan& plan, const Batch& batch);

/// The outputs [N, ...] of those names from a plan's last run, real numbers as fp32; waits for it. All rows count.
/// Written over `before`, the outputs of an earlier run, if they have the same shapes.
Batch read_outputs(const Plan& plan, const std::vector<std::string>& names, Batch before = {});
/// The same for a plan that has not run: zeros.
Batch empty_outputs(const Plan& plan, const std::vector<std::string>& names);

/// Numbers of tokens in one or several batches.
struct TokenCounts {
  std::int64_t valid = 0;     // in the samples
  std::int64_t computed = 0;  // padding included
};

/// Counts for a batch that `plan` runs; 0 for images.
TokenCounts count_tokens(const Plan& plan, const Batch& batch);

}  // namespace ptrain

// Copies a loader's batch into a plan's inputs.
#pragma once

#include "core/data/batch.h"
#include "core/exec/plan.h"

namespace ptrain {

/// Writes images or tokens, and labels; the labels of rows from `valid` on become the ignored label. The plan's inputs
/// bear the names of models/model.h.
void feed(Plan& plan, const Batch& batch, std::int64_t valid);

}  // namespace ptrain

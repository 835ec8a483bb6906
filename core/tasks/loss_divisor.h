// The weight of a batch among the micro-batches of a step.
#pragma once

#include "core/data/batch.h"

#include <span>

namespace ptrain {

/// What the mean of a task's loss over the batch divides by: the number of targets that count, or the sum of their
/// classes' weights. `class_weights` may be empty: all classes weigh the same.
double loss_divisor(const Batch& batch, std::span<const float> class_weights);

}  // namespace ptrain

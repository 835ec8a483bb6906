// What output.numerics reports, and what is known of a value that is not finite.
#pragma once

#include "core/exec/value_watch.h"
#include "core/train/measure/loss_record.h"

#include <map>
#include <string>
#include <vector>

namespace ptrain {

/// The values of rank 0, as every rank computes alike.
struct Numerics {
  std::vector<ValueRange> ranges;
  std::map<Pass, NonFinite> not_finite;  // the first of each pass
};

/// What to add to the message of a training that diverged: where it began or, without a watch (null), which key tells.
/// With loss scaling gradients may overflow; the scaler skips such steps.
std::string explain_divergence(const ValueWatch* watch, LossScaling scaling);

/// One line: the first value that is not finite, the largest magnitude, and how many tensors fp16 would not hold.
std::string summarize_values(const Numerics& numerics);

}  // namespace ptrain

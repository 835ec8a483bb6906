// A sentence that sums up what runs came to, at the top of their page.
#pragma once

#include "core/analysis/run_set.h"

#include <span>
#include <string>

namespace ptrain::html {

/// "resnet50 on fashion-mnist: top-1 0.9076 after 938 steps, at 98.7 images/s in O1 (bf16)."; why, if it failed.
std::string sum_up_run(const Report& report);

/// The largest clear effect of a sweep on speed, and what is clear of accuracy; of other runs the fastest case. Empty
/// where there is nothing to compare.
std::string sum_up_sets(std::span<const RunSet> sets);

}  // namespace ptrain::html

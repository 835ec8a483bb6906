// Summary of a run's results for the console.
#pragma once

#include "core/report/report.h"

#include <span>
#include <string>

namespace ptrain {

/// A line for each part: work done, speed with its interval over the measured steps, the last of `step_ms`, memory
/// against plan, accuracy, AMP level with reason, and the flags as requested and in effect. Parts without figures are
/// left out.
std::string run_summary(const Report& report, std::span<const double> step_ms);

}  // namespace ptrain

// What a run came to, for the person who started it.
#pragma once

#include "core/report/report.h"

#include <span>
#include <string>

namespace ptrain {

/// A line for each: work done, speed with its interval over the measured steps (`step_ms`), memory against plan,
/// accuracy, AMP level and why, and the flags as asked for and in effect. Parts without figures are left out.
std::string run_summary(const Report& report, std::span<const double> step_ms);

}  // namespace ptrain

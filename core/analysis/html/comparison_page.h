// A comparison as one HTML file that needs neither network nor script.
#pragma once

#include "core/analysis/compare.h"

#include <string>

namespace ptrain {

/// The verdict with its threshold, the changes and both sides' speeds as figures, the table, the reasons, and what
/// differs between the two environments.
std::string comparison_page(const Comparison& comparison);

}  // namespace ptrain

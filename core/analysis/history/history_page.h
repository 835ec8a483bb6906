// A history as one HTML file that needs neither network nor script.
#pragma once

#include "core/analysis/history/history.h"

#include <string>

namespace ptrain {

/// Lists every change, charts each varying series with its levels, and lists all points.
std::string history_page(const History& history);

}  // namespace ptrain

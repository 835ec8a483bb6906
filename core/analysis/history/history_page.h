// A history as one HTML file that needs neither network nor script.
#pragma once

#include "core/analysis/history/history.h"

#include <string>

namespace ptrain {

/// Every change, a chart of each series that varies with the levels between its change points drawn in, and all points.
std::string history_page(const History& history);

}  // namespace ptrain

// A benchmark as one HTML file that needs neither network nor script.
#pragma once

#include "core/analysis/run_set.h"
#include "core/analysis/table.h"

#include <filesystem>
#include <span>
#include <string>

namespace ptrain {

/// The table, throughput with intervals, step-time distributions, loss and accuracy curves, memory, and the share of
/// each op where runs timed them (output.per_op). Links are relative to `from`, the folder the page will lie in.
std::string html_page(std::span<const RunSet> sets, const Table& table, const std::filesystem::path& from);

}  // namespace ptrain

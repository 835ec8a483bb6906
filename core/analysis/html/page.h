// A benchmark, or a run, as one HTML file that needs neither network nor script.
#pragma once

#include "core/analysis/html/figure.h"
#include "core/analysis/run_set.h"
#include "core/analysis/table.h"

#include <filesystem>
#include <span>
#include <string>
#include <vector>

namespace ptrain {

/// The figures for these runs, on a page or in a paper.
std::vector<html::Figure> make_figures(std::span<const RunSet> sets);

/// The figures, the runs that do not count with the reason of each, and the table; for a single run also the time of
/// its ops, its flags and its configuration. Links are relative to `from`, the folder of the page.
std::string html_page(std::span<const RunSet> sets, const Table& table, const std::filesystem::path& from);

}  // namespace ptrain

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

/// Whether a page leads to the reports of its runs, or to a page of each, index.html beside its report.
enum class RunLinks { reports, pages };

/// Where a page is, and what it leads to.
struct PageLinks {
  std::filesystem::path from;  // folder of the page; links are relative to it
  RunLinks runs = RunLinks::reports;
  std::string back = {};       // URL of the page above; empty: none
  std::string back_text = {};  // of its link
};

struct PageContent {
  std::string title, content;

  /// The whole HTML document; `script` is the URL of its script, or empty.
  std::string document(const std::string& script = "") const;
};

/// A sentence that sums up, the figures, the runs that do not count with the reason of each, and the table; for a
/// single run also the time of its ops, its flags and its configuration.
PageContent make_page(std::span<const RunSet> sets, const Table& table, const PageLinks& links);

/// The page of one run, which it names so.
PageContent make_run_page(const MeasuredRun& run, const std::string& name, const PageLinks& links);

/// "level=O1, round 2": a run of a case that has several, else the case.
std::string name_run(const MeasuredCase& item, const MeasuredRun& run);

/// Writes index.html beside the report of every run, which leads back to `page`. Throws Error{usage} before anything is
/// written if one is a file that this program did not write, Error{failed} if one cannot be written.
void write_run_pages(std::span<const RunSet> sets, const std::filesystem::path& page);

}  // namespace ptrain

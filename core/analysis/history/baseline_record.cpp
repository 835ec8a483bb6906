#include "core/analysis/history/baseline_record.h"

#include "core/base/errors.h"
#include "core/report/json_file.h"

#include <algorithm>

namespace ptrain {
namespace {

namespace fs = std::filesystem;

constexpr const char* baseline_prefix = "baseline-";

void find_benchmarks(const fs::path& folder, std::vector<fs::path>& found) {
  const bool is_benchmark = fs::exists(folder / "suite.json");
  if (is_benchmark) found.push_back(folder);
  for (const auto& entry : fs::directory_iterator(folder)) {
    const bool is_runs = is_benchmark && entry.path().filename() == "runs";
    if (entry.is_directory() && !entry.is_symlink() && !is_runs) find_benchmarks(entry.path(), found);
  }
}

std::string read_label(const fs::path& folder) {
  const std::string name = fs::absolute(folder).lexically_normal().filename().string();
  return name.starts_with(baseline_prefix) ? name.substr(std::string_view(baseline_prefix).size()) : name;
}

SavedSweep load_sweep(const fs::path& folder) {
  SavedSweep sweep;
  sweep.runs = load_runs(folder.string());
  sweep.record = make_baseline_record(sweep.runs);
  if (fs::exists(folder / baseline_file)) {
    sweep.record = read_document<BaselineRecord>(folder / baseline_file);
  } else {
    sweep.record.label = read_label(folder);
  }
  return sweep;
}

bool is_same_sweep(const SavedSweep& a, const SavedSweep& b) {
  return a.record.machine.hash == b.record.machine.hash && a.runs.suite->suite == b.runs.suite->suite &&
         a.runs.suite->sweep == b.runs.suite->sweep && a.record.binary == b.record.binary;
}

}  // namespace

BaselineRecord make_baseline_record(const RunSet& runs) {
  BaselineRecord record;
  record.suite = runs.suite->suite;
  record.machine = runs.suite->machine;
  record.binary = runs.suite->binary;
  record.software = runs.suite->software.value_or(Software{});
  for (const MeasuredCase& item : runs.cases) {
    for (const MeasuredRun& run : item.runs) record.measured.add(run.record.started);
    const MeasuredRun* reported = item.reported();
    if (reported == nullptr || !record.version.empty()) continue;
    record.commit = reported->report->environment.ptrain.commit;
    record.version = reported->report->environment.ptrain.version;
  }
  return record;
}

std::vector<SavedSweep> load_saved_sweeps(const fs::path& folder, std::vector<std::string>& notes) {
  if (!fs::is_directory(folder)) fail("{}: no such folder", folder.string());
  std::vector<fs::path> folders;
  find_benchmarks(folder, folders);
  std::vector<SavedSweep> sweeps;
  for (const fs::path& path : folders) {
    SavedSweep sweep = load_sweep(path);
    for (std::string& note : sweep.runs.left_out_notes()) notes.push_back(std::move(note));
    if (!sweep.record.measured.first.empty()) sweeps.push_back(std::move(sweep));
  }
  if (sweeps.empty())
    fail("{}: contains no baseline (create one with ptrain baseline save DIR --name LABEL)", folder.string());
  const auto order = [](const SavedSweep& a, const SavedSweep& b) {  // same sweep: the first saved comes first
    return std::tuple(a.record.measured.first, a.record.saved.empty(), a.record.saved, a.record.label) <
           std::tuple(b.record.measured.first, b.record.saved.empty(), b.record.saved, b.record.label);
  };
  std::sort(sweeps.begin(), sweeps.end(), order);
  std::vector<SavedSweep> kept;
  for (SavedSweep& sweep : sweeps) {
    const auto same =
        std::find_if(kept.begin(), kept.end(), [&](const SavedSweep& other) { return is_same_sweep(other, sweep); });
    if (same == kept.end()) {
      kept.push_back(std::move(sweep));
    } else if (!sweep.record.saved.empty()) {
      notes.push_back(fmt::format("{}: left out: the same sweep as {}", sweep.record.label, same->record.label));
    }
  }
  return kept;
}

}  // namespace ptrain

#include "core/analysis/run_set.h"

#include "core/base/errors.h"
#include "core/config/text.h"
#include "core/io/run_files.h"
#include "core/report/json_file.h"

#include <fmt/ranges.h>

#include <algorithm>
#include <map>
#include <set>

namespace ptrain {
namespace {

using nlohmann::json;
namespace fs = std::filesystem;

/// Figures from the report's summary, without every step's time: the median replaces the typical step.
std::optional<RunFigures> summarize_report(const Report& report) {
  if (!report.throughput || !report.latency_ms) return std::nullopt;
  const Statistics& step_ms = report.latency_ms->step;
  RunFigures figures = run_figures(report, std::vector<double>{step_ms.p50}, 0);
  figures.step_ms = step_ms;
  figures.summary = true;
  figures.throughput = report.throughput->value;
  figures.samples = report.throughput->samples;
  figures.seconds = report.throughput->seconds;
  return figures;
}

/// Makes a record for a report that no benchmark wrote.
RunRecord make_record(const Report& report, const fs::path& file, const std::vector<double>& step_ms) {
  RunRecord record;
  record.case_name =
      file.filename() == run_files::report ? file.parent_path().filename().string() : file.stem().string();
  record.config_hash = report.config_hash;
  record.seed = restore_config(report).seed;
  record.started = report.environment.time;
  record.outcome = to_outcome(report.status);
  record.message = report.message;
  record.wall_seconds = report.progress.wall_seconds;
  record.steady = find_steady_state(step_ms);
  const bool whole = static_cast<std::int64_t>(step_ms.size()) == report.progress.steps;
  const bool unstable = whole && !step_ms.empty() && !record.steady.reached && record.outcome == RunOutcome::ok;
  if (unstable) {
    record.outcome = RunOutcome::unstable;
    record.message = record.steady.reason;
  }
  record.figures = whole && (record.steady.reached || unstable)
                       ? std::optional(run_figures(report, step_ms, record.steady.warmup_steps))
                       : summarize_report(report);
  return record;
}

MeasuredRun read_report_run(const fs::path& file) {
  MeasuredRun run;
  run.report = read_report(file);
  run.report_file = file;
  if (file.filename() == run_files::report) run.step_ms = read_step_times(file.parent_path() / run_files::metrics);
  run.record = make_record(*run.report, file, run.step_ms);
  return run;
}

MeasuredRun read_benchmark_run(const fs::path& record_file) {
  MeasuredRun run;
  run.record = read_run_record(record_file);
  run.record_file = record_file;
  const fs::path report = record_file.parent_path() / run_files::report;
  if (fs::exists(report)) {
    run.report = read_report(report);
    run.report_file = report;
  }
  run.step_ms = read_step_times(record_file.parent_path() / run_files::metrics);
  return run;
}

/// Files below a folder, without those of benchmarks in it.
std::vector<fs::path> list_files(const fs::path& folder) {
  std::vector<fs::path> files;
  for (auto entry = fs::recursive_directory_iterator(folder); entry != fs::recursive_directory_iterator(); ++entry) {
    if (entry->is_regular_file()) files.push_back(entry->path());
    if (entry->is_directory() && fs::exists(entry->path() / "suite.json")) entry.disable_recursion_pending();
  }
  std::sort(files.begin(), files.end());
  return files;
}

void add(RunSet& set, MeasuredRun run, const std::string& case_name) {
  auto found = std::find_if(set.cases.begin(), set.cases.end(), [&](const auto& c) { return c.name == case_name; });
  if (found == set.cases.end()) found = set.cases.insert(found, {case_name, {}});
  found->runs.push_back(std::move(run));
}

void load_benchmark(RunSet& set) {
  set.suite = read_document<SuiteRecord>(set.path / "suite.json");
  for (const SuiteCase& item : set.suite->cases) set.cases.push_back({item.name, {}, item.published});
  if (!fs::is_directory(set.path / "runs")) return;
  for (const fs::path& file : list_files(set.path / "runs")) {
    if (file.filename() != "record.json") continue;
    MeasuredRun run = read_benchmark_run(file);
    if (const std::string reason = reason_to_leave_out(*set.suite, run.record); !reason.empty()) {
      set.left_out.push_back({file.parent_path(), reason});
      continue;
    }
    const std::string name = run.record.case_name;
    add(set, std::move(run), name);
  }
}

/// Groups reports of equal configuration (except the seed) as repeats of one case, named after the first.
void load_folder(RunSet& set) {
  std::vector<std::pair<json, std::string>> names;
  for (const fs::path& file : list_files(set.path)) {
    if (file.extension() != ".json") continue;
    const json content = read_json(file);
    const std::string schema = content.is_object() ? content.value("schema", "") : "";
    if (!schema.starts_with("ptrain.report/")) continue;
    MeasuredRun run = read_report_run(file);
    json work = run.report->config;
    work.erase("output");
    work.erase("resume");
    work.erase("seed");
    auto known = std::find_if(names.begin(), names.end(), [&](const auto& entry) { return entry.first == work; });
    if (known == names.end()) known = names.insert(known, {work, run.record.case_name});
    run.record.case_name = known->second;
    const MeasuredCase* earlier = set.find(known->second);
    run.record.repeat = earlier == nullptr ? 0 : static_cast<std::int64_t>(earlier->runs.size());
    const std::string name = known->second;
    add(set, std::move(run), name);
  }
  if (set.cases.empty()) fail("{}: contains no report", set.path.string());
}

void keep_case(RunSet& set, const std::string& name) {
  const MeasuredCase* wanted = set.find(name);
  if (wanted == nullptr) {
    std::vector<std::string> names;
    for (const MeasuredCase& c : set.cases) names.push_back(c.name);
    fail_usage("{}: no case {}{}", set.path.string(), shown(name), did_you_mean(name, names));
  }
  set.cases = {*wanted};
}

}  // namespace

std::vector<MetricsLine> read_metrics(const MeasuredRun& run) {
  if (run.report_file.filename() != run_files::report) return {};
  return read_metrics(run.report_file.parent_path() / run_files::metrics);
}

std::vector<const MeasuredRun*> MeasuredCase::good() const {
  std::vector<const MeasuredRun*> result;
  for (const MeasuredRun& run : runs) {
    if (run.record.outcome == RunOutcome::ok && run.record.figures) result.push_back(&run);
  }
  return result;
}

std::vector<const MeasuredRun*> MeasuredCase::ended() const {
  std::vector<const MeasuredRun*> result;
  for (const MeasuredRun& run : runs) {
    const bool ended = run.record.outcome == RunOutcome::ok || run.record.outcome == RunOutcome::unstable;
    if (ended && run.record.figures) result.push_back(&run);
  }
  return result;
}

const MeasuredRun* MeasuredCase::reported() const {
  const MeasuredRun* found = nullptr;
  for (const MeasuredRun& run : runs) {
    if (!run.report) continue;
    if (run.record.outcome == RunOutcome::ok) return &run;
    if (found == nullptr) found = &run;
  }
  return found;
}

const MeasuredCase* RunSet::find(std::string_view name) const {
  const auto found = std::find_if(cases.begin(), cases.end(), [&](const auto& c) { return c.name == name; });
  return found == cases.end() ? nullptr : &*found;
}

std::vector<std::string> RunSet::left_out_notes() const {
  std::map<std::string, std::vector<std::string>> by_reason;
  for (const LeftOutRecord& record : left_out) {
    by_reason[record.reason].push_back(record.folder.lexically_relative(path).string());
  }
  std::vector<std::string> notes;
  for (const auto& [reason, folders] : by_reason) {
    notes.push_back(fmt::format("{}: left out, and kept: {} ({})", path.string(), fmt::join(folders, ", "), reason));
  }
  return notes;
}

std::string software_difference(const Software& before, const Software& now) {
  const auto version = [](const Software& software, const std::string& name) {
    const auto found = software.versions.find(name);
    return found == software.versions.end() ? std::string("none") : found->second;
  };
  std::set<std::string> names;
  for (const Software* side : {&before, &now}) {
    for (const auto& [name, of] : side->versions) names.insert(name);
  }
  std::string text;
  for (const std::string& name : names) {
    const std::string earlier = version(before, name), later = version(now, name);
    if (earlier != later) add_change(text, name, earlier, later);
  }
  return text;
}

std::string reason_to_leave_out(const SuiteRecord& suite, const RunRecord& record) {
  const auto item = std::find_if(suite.cases.begin(), suite.cases.end(),
                                 [&](const SuiteCase& known) { return known.name == record.case_name; });
  if (record.suite != suite.suite) return fmt::format("belongs to suite {}", record.suite);
  if (item == suite.cases.end()) return "belongs to a case that the suite does not have";
  if (record.config_hash != item->config_hash || record.settings != item->settings) return "another configuration";
  if (record.sweep == suite.sweep) return {};
  return record.binary == suite.binary ? fmt::format("belongs to another sweep, {}", record.sweep) : "another program";
}

void MeasuredSpan::add(const std::string& started) {
  if (first.empty() || started < first) first = started;
  if (started > last) last = started;
}

void MeasuredSpan::add(const MeasuredSpan& other) {
  add(other.first);
  add(other.last);
}

std::string MeasuredSpan::text() const { return first == last ? first : fmt::format("{} to {}", first, last); }

RunSet load_runs(const std::string& path) {
  RunSet set;
  const std::size_t mark = fs::exists(path) ? std::string::npos : path.find('#');
  set.path = path.substr(0, mark);
  if (fs::exists(set.path / "suite.json")) {
    load_benchmark(set);
  } else if (fs::is_directory(set.path) && fs::exists(set.path / run_files::report)) {
    MeasuredRun run = read_report_run(set.path / run_files::report);
    const std::string name = run.record.case_name;
    add(set, std::move(run), name);
  } else if (fs::is_directory(set.path)) {
    load_folder(set);
  } else {
    MeasuredRun run = read_report_run(set.path);
    const std::string name = run.record.case_name;
    add(set, std::move(run), name);
  }
  if (mark != std::string::npos) keep_case(set, path.substr(mark + 1));
  return set;
}

}  // namespace ptrain

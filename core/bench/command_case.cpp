#include "core/bench/command_case.h"

#include "core/base/errors.h"
#include "core/base/utf8.h"
#include "core/bench/command_metric.h"
#include "core/config/text.h"
#include "core/io/atomic_file.h"
#include "core/io/run_files.h"
#include "core/report/json_file.h"
#include "core/report/metrics_line.h"

#include <array>
#include <numeric>
#include <optional>
#include <string_view>

namespace ptrain {
namespace {

namespace fs = std::filesystem;

struct TimeUnit {
  std::string_view name;
  double milliseconds;
};
constexpr std::array<TimeUnit, 3> time_units = {{{"s", 1e3}, {"ms", 1}, {"us", 1e-3}}};

/// Milliseconds of a unit of time; absent for a rate.
std::optional<double> find_milliseconds(std::string_view unit) {
  for (const TimeUnit& one : time_units) {
    if (one.name == unit) return one.milliseconds;
  }
  return std::nullopt;
}

std::string write_placeholder(const std::string& name) { return "{" + name + "}"; }

void replace_all(std::string& text, const std::string& from, const std::string& to) {
  for (std::size_t at = text.find(from); at != std::string::npos; at = text.find(from, at + to.size())) {
    text.replace(at, from.size(), to);
  }
}

/// Times of the steps, from figures in `unit`.
std::vector<double> convert_to_step_times(std::vector<double> figures, const std::string& unit) {
  const std::optional<double> milliseconds = find_milliseconds(unit);
  for (double& value : figures) value = milliseconds ? value * *milliseconds : 1e3 / value;
  return figures;
}

void write_step_times(const std::vector<double>& step_ms, const fs::path& metrics) {
  StepLine line;
  line.step = static_cast<std::int64_t>(step_ms.size());
  line.loss = 0;
  line.step_ms = step_ms.back();
  line.samples = 1;
  line.steps_ms = step_ms;
  write_file_atomic(metrics, to_json(MetricsLine(line)).dump() + "\n", Flush::no);
}

/// Copies a report, and the metrics next to it, into a run's folder.
void copy_report(const fs::path& report, const fs::path& folder) {
  const auto copy = [](const fs::path& from, const fs::path& to) {
    std::error_code error;
    if (fs::equivalent(from, to, error)) return;
    fs::copy_file(from, to, fs::copy_options::overwrite_existing, error);
    if (error) fail("{}: cannot be copied to {}: {}", from.string(), to.string(), error.message());
  };
  copy(report, folder / run_files::report);
  const fs::path metrics = report.parent_path() / run_files::metrics;
  if (fs::exists(metrics)) copy(metrics, folder / run_files::metrics);
}

RunFigures make_figures(const std::vector<double>& step_ms, const SteadyState& steady, const std::string& unit) {
  const auto measured = std::span(step_ms).subspan(static_cast<std::size_t>(steady.warmup_steps));
  RunFigures figures;
  figures.unit = unit;
  figures.samples = static_cast<std::int64_t>(measured.size());
  figures.seconds = std::accumulate(measured.begin(), measured.end(), 0.0) * 1e-3;
  figures.throughput = static_cast<double>(figures.samples) / figures.seconds;
  figures.typical_step_ms = typical_step(measured);
  figures.step_ms = summarize(measured);
  return figures;
}

}  // namespace

bool has_placeholder(const BenchCommand& command, const std::string& name) {
  const std::string wanted = write_placeholder(name);
  return command.text.find(wanted) != std::string::npos || command.metric.find(wanted) != std::string::npos;
}

BenchCommand fill_placeholder(BenchCommand command, const std::string& name, const std::string& value) {
  replace_all(command.text, write_placeholder(name), value);
  replace_all(command.metric, write_placeholder(name), value);
  return command;
}

BenchCommand fill_run_placeholders(const BenchCommand& command, const RunRecord& record, const fs::path& folder) {
  BenchCommand filled = fill_placeholder(command, "seed", std::to_string(record.seed));
  filled = fill_placeholder(filled, "repeat", std::to_string(record.repeat));
  return fill_placeholder(filled, "folder", fs::absolute(folder).string());
}

void check_command(const BenchCommand& command, const std::string& where) {
  if (!is_utf8(command.text)) fail_usage("{}: command: is no UTF-8, as its record has to be", where);
  const CommandMetric metric = parse_command_metric(command.metric, where + ": metric");
  const bool given =
      metric.source == CommandMetric::Source::report || metric.source == CommandMetric::Source::wall_time;
  if (given && !command.unit.empty()) {
    fail_usage("{}: unit: {} has none to give: it has a unit already", where,
               command.metric.empty() ? "a wall time" : shown(command.metric));
  }
}

FileIdentity identify_metric_file(const BenchCommand& command) {
  const CommandMetric metric = parse_command_metric(command.metric, "metric");
  return metric.file.empty() ? FileIdentity{} : identify_file(command.folder / metric.file);
}

void set_command_figures(RunRecord& record, const BenchCommand& command, const SteadyRule& rule, const fs::path& folder,
                         const fs::path& output, const FileIdentity& file_before) {
  CommandMetric metric = parse_command_metric(command.metric, "metric");
  if (!metric.file.empty()) metric.file = command.folder / metric.file;
  if (file_before != FileIdentity{} && identify_file(metric.file) == file_before) {
    fail("{}: is as before: the command did not write it", metric.file.string());
  }
  if (metric.source == CommandMetric::Source::report) {
    copy_report(metric.file, folder);
    return set_report_figures(record, rule, folder);
  }
  const bool wall = metric.source == CommandMetric::Source::wall_time;
  const std::string unit = !command.unit.empty() ? command.unit : metric.guess_unit();
  std::vector<double> step_ms = wall ? std::vector<double>{record.wall_seconds * 1e3}
                                     : convert_to_step_times(read_command_metric(metric, output), unit);
  record.outcome = RunOutcome::ok;
  record.steady.reached = true;
  if (step_ms.size() >= static_cast<std::size_t>(fewest_steps)) {
    record.steady = find_steady_state(step_ms, rule);
    if (!record.steady.reached) record.outcome = RunOutcome::unstable;
    record.message = record.steady.reason;
  } else {
    step_ms = {step_ms.back()};
  }
  write_step_times(step_ms, folder / run_files::metrics);
  record.figures = make_figures(step_ms, record.steady, find_milliseconds(unit) ? "runs/s" : unit);
}

void set_report_figures(RunRecord& record, const SteadyRule& rule, const fs::path& folder) {
  const Report report = read_report(folder / run_files::report);
  record.message = report.message;
  record.outcome = to_outcome(report.status);
  if (record.outcome != RunOutcome::ok) return;
  const std::vector<double> step_ms = read_step_times(folder / run_files::metrics);
  SteadyRule of_report = rule;
  of_report.required = rule.required && report.phases.empty();  // steps of different phases take different times
  record.steady = find_steady_state(step_ms, of_report);
  record.outcome = record.steady.reached ? RunOutcome::ok : RunOutcome::unstable;
  record.message = record.steady.reason;
  if (!step_ms.empty()) record.figures = run_figures(report, step_ms, record.steady.warmup_steps);
}

}  // namespace ptrain

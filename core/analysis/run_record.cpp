#include "core/analysis/run_record.h"

#include "core/report/json_file.h"
#include "core/report/metrics_line.h"
#include "core/report/version_1.h"

#include <algorithm>
#include <array>
#include <numeric>

namespace ptrain {

using nlohmann::json;

namespace {

constexpr std::array<std::string_view, 6> all_outcomes = {"ok", "oom", "diverged", "timeout", "unstable", "error"};

/// Number of samples of the training's steps from `begin` up to `end`.
std::int64_t count_samples(const Report& report, std::int64_t begin, std::int64_t end) {
  if (report.phases.empty()) return (end - begin) * report.global_batch_size;
  const std::int64_t parts = report.global_batch_size / restore_config(report).data.batch_size;  // ranks, micro-batches
  std::int64_t samples = 0;
  for (const PhaseReport& phase : report.phases) {
    const std::int64_t first = phase.first_step - 1, last = first + phase.steps;
    samples += std::max<std::int64_t>(0, std::min(last, end) - std::max(first, begin)) * phase.batch_size * parts;
  }
  return samples;
}

void upgrade_record(json& record) {
  json& measured = record["measured"];
  if (!measured.is_object()) return;
  measured["evaluation"] = measured["top1"].is_null() ? json() : upgrade_evaluation(measured);
  measured.erase("top1");
  measured.erase("eval_samples");
}

}  // namespace

std::string_view to_string(RunOutcome outcome) { return all_outcomes.at(static_cast<std::size_t>(outcome)); }

RunOutcome to_outcome(RunStatus status) {
  switch (status) {
    case RunStatus::ok:
      return RunOutcome::ok;
    case RunStatus::oom:
      return RunOutcome::oom;
    case RunStatus::diverged:
      return RunOutcome::diverged;
    case RunStatus::interrupted:
    case RunStatus::error:
      break;
  }
  return RunOutcome::error;
}

double typical_step(std::span<const double> step_ms) { return quantile(step_ms, 0.10); }

RunFigures run_figures(const Report& report, std::span<const double> step_ms, std::int64_t warmup_steps) {
  RunFigures figures;
  const auto measured = step_ms.subspan(static_cast<std::size_t>(warmup_steps));
  figures.unit = report.throughput ? report.throughput->unit : "samples/s";
  const std::int64_t steps = report.progress.steps, resumed_at = steps - static_cast<std::int64_t>(step_ms.size());
  figures.samples = count_samples(report, resumed_at + warmup_steps, steps);
  figures.seconds = std::accumulate(measured.begin(), measured.end(), 0.0) * 1e-3;
  figures.throughput = static_cast<double>(figures.samples) / figures.seconds;
  figures.typical_step_ms = typical_step(measured);
  figures.step_ms = summarize(measured);
  figures.memory_bytes = report.memory.measured_peak_bytes.value_or(report.memory.planned_peak_bytes);
  figures.evaluation = report.evaluation;
  if (report.time_to_accuracy && report.time_to_accuracy->seconds) {
    figures.time_to_accuracy = report.time_to_accuracy->seconds;
    figures.samples_to_accuracy = count_samples(report, 0, report.time_to_accuracy->step);
  }
  return figures;
}

json record_schema_version_1() {
  json schema = schema_of_fields<RunRecord>();
  schema["title"] = "ptrain.bench_run/1";
  schema["properties"]["schema"]["const"] = schema["title"];
  json& measured = schema["properties"]["measured"];
  measured["properties"].erase("evaluation");
  measured["properties"]["top1"] = {{"type", {"number", "null"}}, {"minimum", 0}};
  measured["properties"]["eval_samples"] = {{"type", "integer"}, {"minimum", 0}};
  for (json& name : measured["required"]) name = name == "evaluation" ? json("top1") : name;
  measured["required"].push_back("eval_samples");
  return schema;
}

RunRecord read_run_record(const std::filesystem::path& path) {
  json record = read_json(path);
  // Figures in the form of version 1 are read as such, whatever version the record names.
  if (record.is_object() && record.contains("measured") && record["measured"].is_object() &&
      record["measured"].contains("eval_samples")) {
    record["schema"] = "ptrain.bench_run/1";
    record["measured"].erase("evaluation");
  }
  const bool first = is_of_version_1(record);
  static const json schema = schema_of_fields<RunRecord>(), first_schema = record_schema_version_1();
  check_document(path, record, first ? first_schema : schema);
  if (first) upgrade_record(record);
  RunRecord result = read_fields<RunRecord>(record);
  if (result.figures && !(result.figures->typical_step_ms > 0 && result.figures->throughput > 0 &&
                          result.figures->samples > 0 && result.figures->seconds > 0)) {
    fail("{}: measured: expected a step time, samples, seconds and a throughput above 0", path.string());
  }
  if (first && result.figures && result.figures->evaluation) {
    result.figures->evaluation->primary_pointer = "/measured/top1";
  }
  return result;
}

std::vector<double> read_step_times(const std::filesystem::path& metrics) {
  std::vector<double> times;
  for (const MetricsLine& line : read_metrics(metrics)) {
    const auto* step = std::get_if<StepLine>(&line);
    if (step != nullptr) times.insert(times.end(), step->steps_ms.begin(), step->steps_ms.end());
  }
  return times;
}

}  // namespace ptrain

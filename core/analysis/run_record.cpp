#include "core/analysis/run_record.h"

#include "core/base/errors.h"
#include "core/io/atomic_file.h"
#include "core/report/schema_parts.h"

#include <algorithm>
#include <array>
#include <numeric>
#include <sstream>

namespace ptrain {
namespace {

using nlohmann::json;

constexpr std::array<std::string_view, 6> kOutcomes = {"ok", "oom", "diverged", "timeout", "unstable", "error"};

json figures_json(const std::optional<RunFigures>& figures) {
  if (!figures) return nullptr;
  return {{"throughput",
           {{"value", figures->throughput},
            {"unit", figures->unit},
            {"samples", figures->samples},
            {"seconds", figures->seconds}}},
          {"typical_step_ms", figures->typical_step_ms},
          {"step_ms", figures->step_ms},
          {"memory_bytes", figures->memory_bytes},
          {"top1", figures->top1 ? json(*figures->top1) : json(nullptr)},
          {"eval_samples", figures->eval_samples}};
}

std::optional<RunFigures> figures_from_json(const json& j) {
  if (j.is_null()) return std::nullopt;
  RunFigures figures;
  const json& throughput = j.at("throughput");
  figures.throughput = throughput.at("value");
  figures.unit = throughput.at("unit");
  figures.samples = throughput.at("samples");
  figures.seconds = throughput.at("seconds");
  figures.typical_step_ms = j.at("typical_step_ms");
  figures.step_ms = j.at("step_ms");
  figures.memory_bytes = j.at("memory_bytes");
  if (!j.at("top1").is_null()) figures.top1 = j.at("top1");
  figures.eval_samples = j.at("eval_samples");
  return figures;
}

json figures_schema() {
  using namespace schema;  // NOLINT(google-build-using-namespace)
  return object_of({{"throughput", object_of({{"value", amount("samples / seconds")},
                                              {"unit", text("")},
                                              {"samples", count("of the measured steps")},
                                              {"seconds", amount("of the measured steps")}},
                                             "")},
                    {"typical_step_ms", amount("tenth percentile of the step times; what verdicts compare")},
                    {"step_ms", statistics("times of the measured steps")},
                    {"memory_bytes", count("measured peak, else the planned one")},
                    {"top1", maybe_amount("0 to 1; null without an evaluation")},
                    {"eval_samples", count("")}},
                   "over the steps after the warm-up; null when none was measured", Nullable::yes);
}

}  // namespace

std::string_view name_of(RunOutcome outcome) { return kOutcomes.at(static_cast<std::size_t>(outcome)); }

RunOutcome run_outcome_from_name(std::string_view name) {
  const auto found = std::find(kOutcomes.begin(), kOutcomes.end(), name);
  if (found == kOutcomes.end()) fail("{}: no outcome of a run", quoted_name(name));
  return static_cast<RunOutcome>(found - kOutcomes.begin());
}

double typical_step(std::span<const double> step_ms) { return quantile(step_ms, 0.10); }

RunFigures run_figures(const json& report, std::span<const double> step_ms, std::int64_t warmup_steps) {
  RunFigures figures;
  const auto measured = step_ms.subspan(static_cast<std::size_t>(warmup_steps));
  figures.unit = report.at("throughput").is_null() ? "samples/s" : report["throughput"].at("unit").get<std::string>();
  figures.samples = static_cast<std::int64_t>(measured.size()) * report.at("global_batch_size").get<std::int64_t>();
  figures.seconds = std::accumulate(measured.begin(), measured.end(), 0.0) * 1e-3;
  figures.throughput = static_cast<double>(figures.samples) / figures.seconds;
  figures.typical_step_ms = typical_step(measured);
  figures.step_ms = summarize(measured);
  const json& memory = report.at("memory");
  const json& peak = memory.at("measured_peak_bytes");
  figures.memory_bytes =
      peak.is_null() ? memory.at("planned_peak_bytes").get<std::int64_t>() : peak.get<std::int64_t>();
  if (const json& accuracy = report.at("accuracy"); !accuracy.is_null() && !accuracy.at("top1").is_null()) {
    figures.top1 = accuracy["top1"];
    figures.eval_samples = accuracy.at("eval_samples");
  }
  return figures;
}

std::vector<double> read_step_times(const std::filesystem::path& metrics) {
  std::vector<double> times;
  std::error_code error;
  if (!std::filesystem::exists(metrics, error)) return times;
  std::istringstream lines(read_file(metrics));
  for (std::string line; std::getline(lines, line);) {
    const json entry = json::parse(line, nullptr, false);
    if (!entry.is_object() || !entry.contains("steps_ms") || !entry["steps_ms"].is_array()) continue;
    for (const json& ms : entry["steps_ms"]) {
      if (ms.is_number()) times.push_back(ms);
    }
  }
  return times;
}

json to_json(const RunRecord& r) {
  return {{"schema", "ptrain.bench_run/1"},
          {"suite", r.suite},
          {"case", r.case_name},
          {"settings", r.settings},
          {"repeat", r.repeat},
          {"position", r.position},
          {"sweep", r.sweep},
          {"config_hash", r.config_hash},
          {"binary", r.binary},
          {"seed", r.seed},
          {"started", r.started},
          {"status", name_of(r.outcome)},
          {"message", r.message},
          {"exit_code", r.exit_code},
          {"wall_seconds", r.wall_seconds},
          {"steady",
           {{"reached", r.steady.reached},
            {"warmup_steps", r.steady.warmup_steps},
            {"drift_percent", r.steady.drift_percent},
            {"reason", r.steady.reason}}},
          {"measured", figures_json(r.figures)}};
}

RunRecord run_record_from_json(const json& j) {
  RunRecord r;
  r.suite = j.at("suite");
  r.case_name = j.at("case");
  r.settings = j.at("settings");
  r.repeat = j.at("repeat");
  r.position = j.at("position");
  r.sweep = j.at("sweep");
  r.config_hash = j.at("config_hash");
  r.binary = j.at("binary");
  r.seed = j.at("seed");
  r.started = j.at("started");
  r.outcome = run_outcome_from_name(j.at("status").get<std::string>());
  r.message = j.at("message");
  r.exit_code = j.at("exit_code");
  r.wall_seconds = j.at("wall_seconds");
  const json& steady = j.at("steady");
  r.steady = {steady.at("reached"), steady.at("warmup_steps"), steady.at("drift_percent"), steady.at("reason")};
  r.figures = figures_from_json(j.at("measured"));
  return r;
}

json run_record_schema() {
  using namespace schema;  // NOLINT(google-build-using-namespace)
  const json steady = object_of({{"reached", typed("boolean", "")},
                                 {"warmup_steps", count("first steps, left out")},
                                 {"drift_percent", number("second half over first half of the rest")},
                                 {"reason", text("why not; empty when reached")}},
                                "end of the warm-up");
  return document("ptrain.bench_run/1",
                  {{"suite", text("")},
                   {"case", text("")},
                   {"settings", typed("object", "keys that make the case, with their values")},
                   {"repeat", count("round of the sweep, from 0")},
                   {"position", count("runs of the sweep started before it")},
                   {"sweep", text("equal for runs that were interleaved with each other")},
                   {"config_hash", text("")},
                   {"binary", text("hash of the program that ran")},
                   {"seed", count("of the training")},
                   {"started", text("UTC")},
                   {"status", choice(kOutcomes, "")},
                   {"message", text("why, unless ok")},
                   {"exit_code", typed("integer", "of the process; 128 + signal when a signal ended it")},
                   {"wall_seconds", amount("of the process")},
                   {"steady", steady},
                   {"measured", figures_schema()}},
                  "One run of a benchmark. report.json and metrics.jsonl of the run lie beside it.");
}

}  // namespace ptrain

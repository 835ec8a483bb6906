// Record of one run of a benchmark (`ptrain.bench_run/2`): its settings, how it ended, and figures of its steady steps.
// The run's own report and metrics are in the same folder.
#pragma once

#include "core/analysis/steady_state.h"
#include "core/report/report.h"

#include <nlohmann/json.hpp>

#include <cstdint>
#include <filesystem>
#include <optional>
#include <span>
#include <string>
#include <string_view>
#include <vector>

namespace ptrain {

/// How a benchmark's run ended. `unstable`: it ran, but its step times did not settle.
enum class RunOutcome { ok, oom, diverged, timeout, unstable, error };
std::string_view to_string(RunOutcome outcome);
/// Converts the status of a run that left a report.
RunOutcome to_outcome(RunStatus status);

/// Figures of one run over the steps after its warm-up.
struct RunFigures {
  double throughput = 0;
  std::string unit;  // "images/s"
  std::int64_t samples = 0;
  double seconds = 0;
  double typical_step_ms = 0;  // see typical_step()
  Statistics step_ms;
  std::int64_t memory_bytes = 0;
  std::optional<Evaluation> evaluation;    // last evaluation
  std::optional<double> time_to_accuracy;  // seconds
  std::optional<std::int64_t> samples_to_accuracy;
  bool summary = false;  // not saved: made from a report's summary, typical step is its median

  void describe(Fields& field) {
    field.group("throughput", "", [this](Fields& part) {
      part("value", throughput, "samples / seconds");
      part("unit", unit, "");
      part("samples", samples, "samples of the measured steps");
      part("seconds", seconds, "time of the measured steps");
    });
    field("typical_step_ms", typical_step_ms, "tenth percentile of the step times; used by verdicts");
    field("step_ms", step_ms, "times of the measured steps");
    field("memory_bytes", memory_bytes, "measured peak, else the planned peak");
    field("evaluation", evaluation, "last evaluation; null: none");
    field.maybe("time_to_accuracy", time_to_accuracy, "seconds until train.target was reached; absent: not reached");
    field.maybe("samples_to_accuracy", samples_to_accuracy, "samples trained on until then");
  }
};

struct RunRecord {
  std::string suite;
  std::string case_name;
  nlohmann::json settings = nlohmann::json::object();
  std::int64_t repeat = 0;
  std::int64_t position = 0;
  std::string sweep;
  std::string config_hash;
  std::string binary;
  std::int64_t seed = 0;
  std::string started;
  RunOutcome outcome = RunOutcome::error;
  std::string message;
  int exit_code = 0;
  double wall_seconds = 0;
  SteadyState steady;
  std::optional<RunFigures> figures;

  void describe(Fields& field) {
    field.document("ptrain.bench_run/2",
                   "One run of a benchmark. report.json and metrics.jsonl of the run are in the same folder.");
    field("suite", suite, "");
    field("case", case_name, "");
    field.any("settings", settings, "object", "keys that define the case, with their values");
    field("repeat", repeat, "round of the sweep, from 0");
    field("position", position, "number of runs of the sweep that started before it");
    field("sweep", sweep, "equal for runs that were interleaved with each other");
    field("config_hash", config_hash, "hash of the case's requested configuration");
    field("binary", binary, "hash of the program that ran");
    field("seed", seed, "seed of the training");
    field("started", started, "UTC");
    field.choice("status", outcome, RunOutcome::error, "");
    field("message", message, "reason, unless ok");
    field.any_sign("exit_code", exit_code, "exit code of the process; 128 + signal if a signal ended it");
    field("wall_seconds", wall_seconds, "wall time of the process");
    field("steady", steady, "end of the warm-up");
    field("measured", figures, "over the steps after the warm-up; null when none was measured");
  }
};

/// The step time that represents a run: the tenth percentile. Interference of other programs only ever lengthens steps,
/// so a low quantile varies least between runs (on a shared two-core machine, within neighbouring runs: 1.5 %, against
/// 2.2 % for the lower quartile and 4.2 % for the median), while a slowdown of every step moves all quantiles alike. It
/// does not see stalls of some steps; the throughput does.
double typical_step(std::span<const double> step_ms);

/// The figures of a report with `step_ms` (every step, in order), without the first `warmup_steps`.
RunFigures run_figures(const Report& report, std::span<const double> step_ms, std::int64_t warmup_steps);

/// The schema of `ptrain.bench_run/1`.
nlohmann::json record_schema_version_1();

/// Reads a record of this version, or of version 1, whose top-1 becomes its primary metric. Throws as read_document
/// does.
RunRecord read_run_record(const std::filesystem::path& path);

/// Reads the times of every step, in order, from a run's metrics.jsonl; empty without such a file or such times.
std::vector<double> read_step_times(const std::filesystem::path& metrics);

}  // namespace ptrain

// One run of a benchmark as it is kept on disk (`ptrain.bench_run/1`): what it was, how it ended, and the figures of
// its steady steps. The run's own report and metrics lie beside it.
#pragma once

#include "core/analysis/steady_state.h"
#include "core/report/statistics.h"

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
std::string_view name_of(RunOutcome outcome);
/// Throws Error{failed} for a name that is none.
RunOutcome run_outcome_from_name(std::string_view name);

/// Figures of one run over the steps after its warm-up.
struct RunFigures {
  double throughput = 0;       // samples / seconds
  std::string unit;            // "images/s"
  std::int64_t samples = 0;    // of the measured steps, all ranks
  double seconds = 0;          // of the measured steps
  double typical_step_ms = 0;  // what verdicts compare: see typical_step()
  Statistics step_ms;
  std::int64_t memory_bytes = 0;  // measured peak, else the planned one
  std::optional<double> top1;     // 0 to 1; absent without an evaluation
  std::int64_t eval_samples = 0;
  bool summary = false;  // not kept: only a report's summary was there, the typical step is its median
};

struct RunRecord {
  std::string suite;
  std::string case_name;
  nlohmann::json settings = nlohmann::json::object();  // keys that make the case, with their values
  std::int64_t repeat = 0;                             // round of the sweep, from 0
  std::int64_t position = 0;                           // runs of this sweep that were started before it
  std::string sweep;                                   // equal for runs that were interleaved with each other
  std::string config_hash;
  std::string binary;     // hash of the program that ran
  std::int64_t seed = 0;  // of the training
  std::string started;    // UTC
  RunOutcome outcome = RunOutcome::error;
  std::string message;  // why, unless ok
  int exit_code = 0;    // of the process; 128 + signal when a signal ended it
  double wall_seconds = 0;
  SteadyState steady;
  std::optional<RunFigures> figures;  // absent when no step was measured
};

/// The step time that stands for a run: the tenth percentile. Interference of other programs only ever lengthens steps,
/// so that a low quantile varies least between runs (on a shared two-core machine, within neighbouring runs: 1.5 %,
/// against 2.2 % for the lower quartile and 4.2 % for the median), while a slowdown of every step moves them all alike.
/// What it cannot see, stalls of some steps, the throughput shows.
double typical_step(std::span<const double> step_ms);

/// The figures of a report whose steps took `step_ms` (every step, in order), of which `warmup_steps` are left out.
RunFigures run_figures(const nlohmann::json& report, std::span<const double> step_ms, std::int64_t warmup_steps);

/// Times of every step, in order, from a run's metrics.jsonl; empty when there is no such file or it lacks them.
std::vector<double> read_step_times(const std::filesystem::path& metrics);

nlohmann::json to_json(const RunRecord& record);
RunRecord run_record_from_json(const nlohmann::json& json);
nlohmann::json run_record_schema();

}  // namespace ptrain

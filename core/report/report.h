// The report of one run, `ptrain.report/1`: filled in as the run goes, valid at any moment, so that a run that fails
// still leaves a report that says so.
#pragma once

#include "core/config/config.h"
#include "core/io/atomic_file.h"
#include "core/report/run_status.h"
#include "core/report/statistics.h"

#include <nlohmann/json.hpp>

#include <cstdint>
#include <filesystem>
#include <map>
#include <optional>
#include <string>
#include <vector>

namespace ptrain {

/// Comparisons of batch norms' persistent statistics with plain ones.
struct GuardReport {
  std::int64_t every_steps = 0;
  std::int64_t compared = 0;  // batches, of all norms and ranks
  double worst_drift = 0;     // of a channel; see core/ops/math/statistics_drift.h
};

/// A flag as it was asked for, what it came to, and why where these differ.
struct FlagState {
  nlohmann::json requested;
  nlohmann::json effective;
  std::string reason;                // empty when effective as requested
  std::optional<GuardReport> guard;  // of persistent batch norm, where it was asked for and compared something
};

struct ScalerReport {
  bool enabled = false;
  bool dynamic = false;
  double scale = 1;  // at the end
  std::int64_t skipped_steps = 0;
  std::vector<std::pair<std::int64_t, double>> history;  // step and scale at each change
};

struct AmpReport {
  std::string level = "O0";
  std::string dtype = "fp32";  // low-precision type in use; fp32 at O0
  ScalerReport scaler;
  std::int64_t casts = 0;  // cast nodes in the training graph
};

struct ModelReport {
  std::string name;
  std::int64_t parameters = 0;
  double flops_per_sample = 0;  // training: forward and backward
};

/// Tokens of text in the measured steps, of all ranks.
struct TokenReport {
  std::int64_t valid = 0;     // of the samples
  std::int64_t computed = 0;  // padding included
};

/// Samples over time of the measured steps; the first `warmup_steps` are outside.
struct Throughput {
  std::string unit = "samples/s";
  std::int64_t samples = 0;  // global: of all ranks
  double seconds = 0;
  std::int64_t warmup_steps = 0;
  int devices = 1;
  std::optional<TokenReport> tokens = {};  // of text
};

/// Times of the measured steps, in ms: whole step, waiting for data, computing.
struct LatencyReport {
  Statistics step, reader, compute;
};

struct Utilization {
  double achieved_flops = 0;                   // FLOP/s over the measured steps
  std::optional<double> peak_flops;            // FLOP/s, measured; absent when the run was too short for it
  std::optional<double> datasheet_peak_flops;  // FLOP/s; absent where no data sheet is known
};

struct RangeReport {
  double mean = 0, min = 0, max = 0;
};

/// One GPU over the measured steps, as its management library saw it; what that does not tell is absent.
struct GpuReport {
  std::int64_t samples = 0;  // looks at the GPU
  std::optional<RangeReport> power_watts, sm_clock_mhz, memory_clock_mhz, temperature_celsius;
  std::optional<double> energy_joules;
  std::optional<double> energy_joules_per_sample;  // of training data
  std::map<std::string, double> throttled;         // reason: share of the looks, 0 to 1
};

struct MemoryReport {
  std::int64_t planned_peak_bytes = 0;
  std::optional<std::int64_t> measured_peak_bytes;
};

struct LossReport {
  std::optional<double> first, last;  // absent before the first step; written as null when not finite
};

struct AccuracyReport {
  double top1 = 0;             // 0 to 1
  std::optional<double> top5;  // absent with 5 classes or fewer
  std::optional<double> f1;    // two classes, of text
  std::optional<double> loss;
  std::int64_t eval_samples = 0;
};

/// One evaluation of the run, in order; the last one is the report's accuracy.
struct EvaluationReport {
  std::int64_t step = 0;  // training steps done before it
  std::int64_t epoch = 0;
  AccuracyReport accuracy;
  double seconds = 0;
};

/// Time of one op over the measured steps; `implementation` names the kernel or algorithm that was chosen.
struct KernelReport {
  std::string op;
  std::string node;
  std::string implementation;
  std::int64_t calls = 0;
  double milliseconds = 0;  // all calls together
  double flops = 0;         // of one call
  double bytes = 0;         // of one call: every tensor once
};

/// How far a run came and where the rest of its output is.
struct ProgressReport {
  std::int64_t steps = 0;
  std::int64_t planned_steps = 0;
  double epochs = 0;
  std::int64_t bad_samples = 0;  // undecodable samples that were skipped
  double wall_seconds = 0;       // from start to end of the command
  double setup_seconds = 0;      // before the first step, search included
  double search_seconds = 0;     // choosing kernels
  std::string resumed_from;      // checkpoint; empty: none
  std::string checkpoint;        // newest one written; empty: none
};

/// One rank's measured steps.
struct RankReport {
  int host = 0;  // which of the run's hosts, counted from 0
  std::int64_t samples = 0;
  double samples_per_second = 0;  // that it would reach if it never waited for other ranks: a straggler's is lower
  double step_ms = 0, reader_ms = 0, compute_ms = 0;  // means of a step
  double waited_ms = 0;  // part of computing: for slower ranks and for transfers that nothing hid
};

/// All-reduces of the measured steps, as rank 0 saw them; bandwidths in nccl-tests' definitions, bytes/s.
struct ExchangeReport {
  double all_reduces = 0;  // per step, as the following
  double bytes = 0;
  double transfer_ms = 0;                    // under way, from the moment all ranks were there
  double exposed_ms = 0;                     // of it, what computing waited for
  double overlapped = 0;                     // 0 to 1: 1 - exposed / transfer
  double imbalance_ms = 0;                   // waiting for slower ranks
  double bus_bandwidth = 0;                  // 2 (n - 1) / n bytes / transfer time
  std::optional<double> peak_bus_bandwidth;  // of all-reduces with nothing beside them
};

/// Data parallelism.
struct DistributedReport {
  int world_size = 1;
  std::string mode;    // parallel_graph, multi_process
  std::string engine;  // threads, mpi
  std::vector<RankReport> ranks;
  ExchangeReport exchange;
};

struct Report {
  RunStatus status = RunStatus::error;  // until the run says otherwise
  std::string message;                  // one line: why, unless ok
  nlohmann::json config;                // to_json(config)
  std::string config_hash;
  std::vector<std::string> notes;  // LoadedConfig::notes and the run's own
  nlohmann::json environment;      // capture_environment
  std::map<std::string, FlagState> flags;
  AmpReport amp;
  ModelReport model;
  std::int64_t global_batch_size = 0;
  ProgressReport progress;
  std::optional<Throughput> throughput;  // absent when no measured step was run
  std::optional<LatencyReport> latency_ms;
  std::optional<Utilization> utilization;
  std::optional<GpuReport> gpu;  // of rank 0
  MemoryReport memory;
  LossReport loss;
  std::optional<AccuracyReport> accuracy;
  std::vector<EvaluationReport> evaluations;
  std::vector<KernelReport> kernels;
  std::optional<DistributedReport> distributed;  // absent with one rank that nothing launched
};

/// A report with config, hash and the requested flags filled in (effective as requested until told otherwise).
Report make_report(const Config& config);

nlohmann::json to_json(const Report& report);

/// The report's JSON Schema (draft 2020-12).
nlohmann::json report_schema();

/// Checks to_json(report) against the schema and writes it, indented, whole or not at all; folders are made as needed.
/// Throws Error{failed} naming the path when it cannot be written.
void write_report(const Report& report, const std::filesystem::path& path, Flush flush = Flush::yes);

}  // namespace ptrain

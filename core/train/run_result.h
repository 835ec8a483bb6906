// Everything a training run measured; the report is made from it.
#pragma once

#include "core/exec/plan.h"
#include "core/passes/amp.h"
#include "core/report/report.h"
#include "core/train/feeder.h"
#include "core/train/ranks.h"

#include <string>
#include <vector>

namespace ptrain {

struct EvalResult {
  std::int64_t step = 0;  // training steps done before it
  std::int64_t epoch = 0;
  std::int64_t samples = 0;
  double loss = 0;
  double top1 = 0;
  double top5 = 0;
  double f1 = 0;  // two-class tasks
  double seconds = 0;
};

/// The loss scale from step `step` on.
struct ScaleChange {
  std::int64_t step = 0;
  double scale = 0;
};

/// One rank's measured steps, summed.
struct RankTotals {
  double samples = 0;
  double step_seconds = 0, reader_seconds = 0, compute_seconds = 0;
  double waited_seconds = 0;  // part of computing: for other ranks and for exposed transfers
  int host = 0;               // which of the run's hosts, counted from 0

  void add(const RankStep& step);
};

/// What the ranks exchanged in the measured steps, as rank 0 saw it.
struct Exchanged {
  std::string engine;  // "threads", "mpi"
  std::int64_t steps = 0;
  ExchangeTimes times;
  std::optional<double> peak_bus_bandwidth;  // bytes/s of an all-reduce of a bucket's size with nothing beside it
};

struct RunResult {
  RunStatus status = RunStatus::ok;
  std::string message;  // why, when not ok
  int signal = 0;       // that interrupted the run

  std::int64_t first_step = 0;   // steps done before this run (resumed)
  std::int64_t steps = 0;        // steps done by this run
  std::int64_t total_steps = 0;  // of the whole training
  std::int64_t steps_per_epoch = 0;
  std::int64_t warmup_steps = 0;                       // of these, not measured
  std::int64_t samples = 0;                            // measured, of all ranks
  double seconds = 0;                                  // measured: training only, no evaluation, no checkpoints
  double flops = 0;                                    // measured, of all ranks: forward and backward
  TokenCounts tokens;                                  // measured, of all ranks, of text
  std::int64_t set_up_steps = 0;                       // behind warm-up, not measured: they set a plan up
  std::vector<double> step_ms, reader_ms, compute_ms;  // one entry per measured step

  std::optional<double> first_loss, last_loss;  // of the whole training, resumed parts included
  std::vector<RankTotals> ranks;                // by rank; of the measured steps
  std::optional<Exchanged> exchanged;           // of several ranks
  std::vector<double> losses;                   // every step of this run
  std::vector<EvalResult> evaluations;

  bool loss_scaling = false;
  std::vector<ScaleChange> scale_history;
  std::int64_t skipped_steps = 0;
  AmpSummary amp;

  std::int64_t planned_peak_bytes = 0;
  std::int64_t measured_peak_bytes = 0;
  std::int64_t variable_bytes = 0, arena_bytes = 0, workspace_bytes = 0, input_bytes = 0;

  std::int64_t parameters = 0;
  double flops_per_sample = 0;  // forward and backward
  double bytes_per_sample = 0;
  // FLOP/s of matrix products in the run's precision on rank 0's device: measured after the run, and by its data sheet.
  std::optional<double> peak_flops, datasheet_peak_flops;
  std::optional<GpuReport> gpu;  // of rank 0, over the measured steps
  double setup_seconds = 0;      // from the start to the first step, search included
  double search_seconds = 0;     // choosing and compiling kernels
  std::string search_hash;       // over all choices of the search
  std::vector<NodeProfile> kernels;
  std::optional<GuardFinding> batch_norm_guard;  // of all ranks; none where nothing was compared
  std::int64_t bad_samples = 0;
  std::string resumed_from;  // checkpoint; empty: none
  std::string checkpoint;    // the last one written
};

}  // namespace ptrain

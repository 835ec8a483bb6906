// What the steps of a run took: which of them count, and what is measured beside them.
#pragma once

#include "core/exec/backend.h"
#include "core/runtime/feeder.h"
#include "core/train/measure/sensor_watch.h"
#include "core/train/ranks.h"
#include "core/train/train_observer.h"

#include <memory>
#include <optional>
#include <string>
#include <vector>

namespace ptrain {

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

/// One phase's measured steps.
struct PhaseTotals {
  std::int64_t steps = 0;
  std::int64_t samples = 0;  // of all ranks
  double seconds = 0;
};

/// The measured steps: those behind warm-up that set no plan up.
struct MeasuredSteps {
  std::int64_t warmup_steps = 0;                       // of the run's steps, not measured
  std::int64_t set_up_steps = 0;                       // behind warm-up, not measured: they set a plan up
  std::int64_t samples = 0;                            // of all ranks
  double seconds = 0;                                  // training only, no evaluation, no checkpoints
  double flops = 0;                                    // of all ranks: forward and backward
  TokenCounts tokens;                                  // of all ranks, of text
  std::vector<double> step_ms, reader_ms, compute_ms;  // one entry per step
  std::vector<PhaseTotals> by_phase;                   // as StepCounts::phases, up to the last that was reached
  std::vector<RankTotals> ranks;                       // by rank
  std::optional<Exchanged> exchanged;                  // of several ranks, once timer ended
  std::optional<GpuReport> gpu;                        // of rank 0
};

class StepTimer {
 public:
  /// Watches the GPU of rank 0, where there is one; a note says so when that cannot be. All must outlive it.
  StepTimer(const Instruments& instruments, Ranks& ranks, TrainObserver& observer);

  /// Before the first of `planned` steps; the first `warmup` of them, half of them at most, do not count.
  void start(std::int64_t planned, std::int64_t warmup);
  /// After each step, as it was shown and as each rank saw it.
  void add(const TrainObserver::Step& step, std::span<const RankStep> by_rank);
  /// After the last step; every rank calls it. `gradients` exchanges them in buckets of `bucket_bytes`; it is null
  /// where there is one rank.
  void end(Collectives* gradients, Backend& backend, std::int64_t bucket_bytes);

  /// Holds at any time.
  const MeasuredSteps& figures() const { return figures_; }

 private:
  void begin();
  void measure_exchange(Collectives& gradients, Backend& backend, std::int64_t bucket_bytes);

  Ranks& ranks_;
  TrainObserver& observer_;
  std::unique_ptr<SensorWatch> sensor_watch_;  // null: nothing to watch
  ExchangeTimes exchanged_before_;             // the measured steps
  std::int64_t steps_ = 0;                     // done, measured or not
  MeasuredSteps figures_;
};

/// Whether `seconds` of training are so many that a tenth of a second for a device's peak is no matter.
constexpr bool worth_a_peak_measurement(double seconds) { return seconds > 5.0; }

}  // namespace ptrain

// Times a run's steps: selects those that count, and takes measurements alongside them.
#pragma once

#include "core/base/machine_load.h"
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
  int host = 0;               // host index, from 0

  void add(const RankStep& step);
};

/// Exchanges between ranks in the measured steps, as seen by rank 0.
struct Exchanged {
  std::string engine;  // "threads", "mpi"
  std::int64_t steps = 0;
  ExchangeTimes times;
  std::optional<double> peak_bus_bandwidth;  // bytes/s of all-reduces of a bucket's size without other load
};

/// The measured steps of one phase.
struct PhaseTotals {
  std::int64_t steps = 0;
  std::int64_t samples = 0;  // over all ranks
  double seconds = 0;
};

/// The measured steps: those after warm-up that set up no plan.
struct MeasuredSteps {
  std::int64_t warmup_steps = 0;                       // steps of the run before measuring
  std::int64_t set_up_steps = 0;                       // after warm-up, but not measured: they set up a plan
  std::int64_t samples = 0;                            // over all ranks
  double seconds = 0;                                  // training only, no evaluation, no checkpoints
  double flops = 0;                                    // over all ranks: forward and backward
  TokenCounts tokens;                                  // over all ranks, for text
  std::vector<double> step_ms, reader_ms, compute_ms;  // one entry per step
  std::vector<PhaseTotals> by_phase;                   // as StepCounts::phases, up to the last one reached
  std::vector<RankTotals> ranks;                       // by rank
  std::optional<Exchanged> exchanged;                  // with several ranks, after the timer ended
  std::optional<GpuReport> gpu;                        // rank 0's
  std::optional<OtherLoad> other_load;                 // where all ranks are of one process
};

class StepTimer {
 public:
  /// Monitors the GPU of rank 0, if any; a note says so when that is not possible. All must outlive it.
  StepTimer(const Instruments& instruments, Ranks& ranks, TrainObserver& observer);

  /// Call before the first of `planned` steps; the first `warmup` of them, at most half, do not count.
  void start(std::int64_t planned, std::int64_t warmup);
  /// Call after each step, with its result and each rank's part.
  void add(const TrainObserver::Step& step, std::span<const RankStep> by_rank);
  /// Call after the last step, on every rank. `gradients` exchanges gradients in buckets of `bucket_bytes`; it is null
  /// for one rank.
  void end(Collectives* gradients, Backend& backend, std::int64_t bucket_bytes);

  /// Valid at any time.
  const MeasuredSteps& figures() const { return figures_; }

 private:
  void begin();
  void measure_exchange(Collectives& gradients, Backend& backend, std::int64_t bucket_bytes);

  Ranks& ranks_;
  TrainObserver& observer_;
  std::unique_ptr<SensorWatch> sensor_watch_;  // null: no sensors
  std::optional<LoadWatch> load_watch_;
  ExchangeTimes exchanged_before_;  // before the measured steps
  std::int64_t steps_ = 0;          // steps so far, measured or not
  MeasuredSteps figures_;
};

/// Whether `seconds` of training are long enough to spend a tenth of a second on the device's peak.
constexpr bool worth_a_peak_measurement(double seconds) { return seconds > 5.0; }

}  // namespace ptrain

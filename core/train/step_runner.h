// Training steps: feeds micro-batches, launches them, reads the loss, and reports each completed step.
#pragma once

#include "core/base/clock.h"
#include "core/config/config.h"
#include "core/data/loader/loader.h"
#include "core/report/figures.h"
#include "core/train/measure/trace.h"
#include "core/train/phases.h"
#include "core/train/plans/training_plans.h"
#include "core/train/ranks.h"
#include "core/train/schedule.h"
#include "core/train/state/starting_state.h"
#include "core/train/train_observer.h"

#include <array>
#include <functional>
#include <memory>
#include <optional>
#include <span>
#include <vector>

namespace ptrain {

struct LossScales {
  std::vector<ScaleChange> scale_history;  // empty without loss scaling
  std::int64_t skipped_steps = 0;
};

class StepRunner {
 public:
  /// Called with each completed step, as shown and as each rank measured it.
  using OnStep = std::function<void(const TrainObserver::Step& step, std::span<const RankStep> by_rank)>;

  /// `plans` are allocated and hold the starting state. All but `counts` must outlive it.
  StepRunner(const TrainConfig& train, const OutputConfig& output, Backend& backend, TrainingPlans& plans, Ranks& ranks,
             const StepCounts& counts, OnStep on_step);

  /// Launches step `step`, counted from 0, on the loader's next batches, and finishes the one before it. An
  /// asynchronous device gets the launches before the host waits for the previous step's loss; the CPU is done when it
  /// returns, but for what the ranks exchange where updates are delayed. `then`: what is known to follow.
  enum class Then { next_step, finish };
  void run(Loader& loader, std::int64_t step, Then then);
  /// Waits for the step in flight, if there is one, and applies a delayed update.
  void finish();

  const LossScales& loss_scales() const { return loss_scales_; }
  /// On rank 0, if output.trace is set.
  const std::optional<Trace>& trace() const { return trace_; }

 private:
  /// A launched step, and the values that the host will read from it.
  struct StepInFlight {
    std::int64_t step = 0;
    RankStep mine;
    double waited_before = 0;  // Ranks::waited_seconds
    double started = 0;        // on `clock_`
    bool traced = false, measured = false;
    std::vector<double> weights;                    // by micro-batch, see loss_divisor(), or relative to a mean one's
    std::vector<std::unique_ptr<Readback>> losses;  // by micro-batch
    std::vector<std::unique_ptr<Readback>> terms;   // by micro-batch, then by loss if there are several
    std::vector<double> term_means;                 // over the micro-batches
    std::unique_ptr<Readback> loss_scale;           // null without loss scaling
  };

  void launch(Loader& loader, std::int64_t step, Then then, StepInFlight& launched);
  /// The next micro-batch, valid until the next call.
  const Batch& load(Loader& loader, StepInFlight& launched);
  /// Loads the next step's batch beside this one's, whose rows the step before has got. Where finish() follows, rows
  /// are got after it.
  void launch_with_next(Loader& loader, Then then, StepInFlight& launched);
  /// The last pass of a step; of a first one where updates are delayed, no update.
  Pass last_pass();
  /// Loads all micro-batches of a step before it launches the first: their weights are by the targets of the whole
  /// step.
  void launch_weighted(Loader& loader, std::int64_t micro_batches, StepInFlight& launched);
  void launch_micro_step(const Batch& batch, Pass last, double batch_weight, StepInFlight& launched);
  /// The plan for a batch, compiled now if it is the first of its kind; notes in `mine` if it is not yet ready to run
  /// the phases up to `last` as all later ones will.
  PlanSet::Member& plan_for(const Batch& batch, Pass last, RankStep& mine);
  void run_plan(Plan& plan, Pass last, StepInFlight& launched);
  /// Sees to the rows of divided tables that `batch` and the next one read.
  void feed_next(Plan& plan, const Batch& batch);
  bool times_ops(std::int64_t step) const;
  /// Records an event of a traced step; does nothing for others.
  void trace(const StepInFlight& step, const std::string& what, double begin);
  double learning_rate(std::int64_t step) const;
  /// The batch, or its rows before the padding.
  const Batch& without_padding(const Batch& batch);
  /// `batch`, or its images mixed if the configuration says so.
  const Batch& mixed(const Batch& batch);
  /// Sets the inputs that differ between steps and micro-batches, apart from the batch.
  void feed_step(Plan& plan, std::int64_t step, std::int64_t micro) const;
  std::int64_t seed() const { return static_cast<std::int64_t>(plans_.options().loader.seed); }
  bool accumulates() const { return train_.accumulate_steps > 1; }
  void feed_weights(Plan& plan, std::span<const double> weights, Pass last) const;
  /// Finishes the step in flight.
  void finish_step();
  /// Takes the step's losses and times, and starts to share them with the other ranks.
  void measure(StepInFlight& launched);
  void report(StepInFlight& launched);
  void apply_delayed_update();
  void read_losses(StepInFlight& launched) const;
  TrainObserver::Step shown(const StepInFlight& launched, std::span<const RankStep> by_rank) const;
  void read_loss_scale(StepInFlight& launched);

  const TrainConfig& train_;
  Backend& backend_;
  TrainingPlans& plans_;
  Ranks& ranks_;
  StepCounts counts_;
  Schedule schedule_;
  OnStep on_step_;
  std::array<StepInFlight, 2> steps_;  // the one being launched and, on an asynchronous device, the one before it
  StepInFlight* in_flight_ = nullptr;
  const bool delays_updates_, looks_ahead_;
  Plan* last_plan_ = nullptr;    // that ran
  bool has_delayed_ = false;     // gradients of its step are still to be applied
  std::optional<Batch> next_;    // the next step's, with divided tables whose updates are delayed
  Plan* fetched_for_ = nullptr;  // the plan that has the rows of the next batch
  Batch rest_;                   // an epoch's last batch without padding
  Batch mixed_;                  // the last mixed batch
  LossScales loss_scales_;
  Stopwatch clock_;
  std::optional<Trace> trace_;
  double last_measured_ = 0, last_finish_ = 0;  // on `clock_`
  std::int64_t launches_ = 0;                   // of steps in this process
};

}  // namespace ptrain

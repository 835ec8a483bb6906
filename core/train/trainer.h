// One rank of a training run, on one device, from its plans to its result. Each stage is a class of its own, which owns
// its measurements.
#pragma once

#include "core/base/clock.h"
#include "core/model/model.h"
#include "core/train/run_result.h"

#include <filesystem>
#include <functional>
#include <memory>
#include <optional>

namespace ptrain {

class PhasedLoader;

class Trainer {
 public:
  /// Everything must outlive the trainer. `evaluation` may be null, and so may `communicator`: one rank, without
  /// exchange. With several, every rank makes the same calls; each trains on its part of a batch of data.batch_size *
  /// world size samples, and rank 0 reads and writes the files. Throws Error{usage} for keys that the backend does not
  /// support.
  Trainer(const Config& config, std::string config_hash, Backend& backend, const Model& model, const Dataset& training,
          const Dataset* evaluation, TrainObserver& observer, Communicator* communicator = nullptr);

  /// Throws OutOfMemory, with the plan's size and a batch that fits, when a step would not fit into memory. Fast; call
  /// it before compile(), whose search allocates memory too.
  void check_memory(std::int64_t workspace_bytes = 0) const;
  /// Counts the steps and compiles the plans; result() then has everything that is known before memory is allocated.
  /// Throws Error{usage} when training data for a step are missing, unless only evaluations follow.
  void compile(OutputUse use = OutputUse::training);
  /// Allocates memory and sets up the starting state: initial, loaded or resumed. Throws OutOfMemory likewise, now that
  /// the kernels' workspace is known too.
  void prepare();
  /// Trains to the end, or until a signal or divergence, as the result's status says. Throws Error on I/O.
  void train();
  /// Throws Error{failed} when neither weights nor a checkpoint gave every tensor.
  void require_trained_weights() const;
  /// Evaluates the present weights once, over all of `evaluation`; a loss that is not finite makes the run diverged.
  EvalResult evaluate_now();
  /// Writes the last evaluation's predictions to output.dir, if output.predictions is set; every rank calls it.
  void write_predictions();
  /// On rank 0, writes to `folder` the weights (their moving average, if there is one; after train() with
  /// train.average_checkpoints the mean of checkpoints) under the model's public names,
  /// and the other files for deployment (model_artifact.h). Every rank calls it.
  void export_model(const std::filesystem::path& folder);

  /// The measurements so far; valid also after train() threw.
  RunResult result() const;

 private:
  bool ok() const { return outcome_.status == RunStatus::ok; }
  /// Whether training continues: nothing went wrong, and nothing ends it before its last step.
  bool should_continue() const { return ok() && outcome_.ended_early.empty(); }
  bool evaluates() const { return evaluation_data_ != nullptr && config_.eval.any(); }
  bool evaluation_is_due(std::int64_t done) const;
  bool checkpoint_is_due(std::int64_t done) const;
  /// Whether something is due after so many steps for which updates must be complete.
  bool pauses_after(std::int64_t done) const;
  std::int64_t steps_done() const { return start_.first_step + losses_.figures().steps; }

  void start_training();
  /// The metric that `key` names. Throws Error{usage} if the task has none of that name.
  const MetricInfo& metric_named(const std::string& name, const std::string& key) const;
  void note_idle_schedule() const;
  /// Where fewer checkpoints are to be written than averaged.
  void note_few_checkpoints() const;
  /// Names of amp.custom_white_list and amp.custom_black_list that no op has.
  void note_absent_ops() const;
  void begin_target(const std::string& metric);
  void announce_stage(std::int64_t step);
  void record_step(const TrainObserver::Step& step, std::span<const RankStep> by_rank);
  void after_step(std::int64_t done);
  /// Collects the measurements of steps, loaders and plans of all ranks after the last step.
  void finish_timing(const PhasedLoader& loader);
  /// Evaluates, and keeps the model if it is the best so far.
  void evaluate_and_keep_best();
  /// Runs the checkpoint and the evaluation after the last step.
  void finish_training();
  void end_without_patience();
  /// Ends training if `result` is as good as train.target.
  void reach_target(const EvalResult& result);
  /// Seconds of steps and evaluations, including earlier runs that this one continues.
  double seconds_of_training() const { return start_.earlier_seconds + training_clock_.seconds(); }
  TrainingState training_state(std::int64_t step) const;
  void write_checkpoint(std::int64_t step);
  /// On rank 0, calls `write` while the variables have whole tables; every rank calls it.
  void write_model(const char* action, const std::function<void()>& write);
  void write_model_files(const std::filesystem::path& folder);
  /// Writes the trace of a few steps, if there is one.
  void write_trace();
  void interrupted(std::int64_t step);
  /// Adds the backend's notes to those of the run.
  void flush_notes();

  const Config& config_;
  Backend& backend_;
  const Model& model_;
  const Dataset& training_data_;
  const Dataset* evaluation_data_;
  TrainObserver& observer_;
  const Stopwatch since_start_;
  Ranks ranks_;
  StepTimer timer_;
  std::shared_ptr<Collectives> gradients_;  // exchanges gradients; null with one rank
  MakeImageDecoder decoders_;               // empty: the host decodes
  TrainingPlans plans_;
  Checkpoints checkpoints_;

  RunEnd outcome_;
  std::int64_t noted_bad_samples_ = 0;  // of evaluations, in notes
  StartingPoint start_;
  BestModel best_;
  Stopwatch training_clock_;            // from the first step on
  std::optional<TargetReport> target_;  // while training, if set
  StepCounts counts_;
  LossRecord losses_;
  DeviceFigures device_;
  std::optional<StepRunner> step_runner_;  // set by prepare()
  std::optional<Evaluator> evaluator_;     // likewise, if there is evaluation data
};

}  // namespace ptrain

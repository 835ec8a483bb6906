// One rank of a training run, on one device: prepares plans, steps through the data, evaluates, checkpoints, measures.
#pragma once

#include "core/base/clock.h"
#include "core/base/errors.h"
#include "core/config/config.h"
#include "core/data/dataset.h"
#include "core/data/loader/loader.h"
#include "core/train/gpu_watch.h"
#include "core/train/plan_set.h"
#include "core/train/ranks.h"
#include "core/train/run_result.h"
#include "core/train/schedule.h"
#include "models/model.h"

#include <array>
#include <filesystem>
#include <optional>

namespace ptrain {

/// What a run tells while it goes on; every call comes from the training thread.
class TrainObserver {
 public:
  struct Step {
    std::int64_t step = 0;  // counted from 1
    std::int64_t total = 0;
    std::int64_t epoch = 0;
    double loss = 0;
    double lr = 0;
    double step_seconds = 0, reader_seconds = 0, compute_seconds = 0;
    std::int64_t samples = 0;
    double loss_scale = 0;  // 0: no scaler
  };

  virtual ~TrainObserver() = default;
  virtual void on_start(const RunResult& /*prepared*/) {}
  virtual void on_step(const Step& /*step*/) {}
  virtual void on_eval_progress(std::int64_t /*done*/, std::int64_t /*total*/) {}
  virtual void on_eval(const EvalResult& /*result*/) {}
  virtual void on_note(const std::string& /*line*/) {}
};

class Trainer {
 public:
  /// Everything must outlive the trainer. `evaluation` may be null, and so may `communicator`: one rank, which
  /// exchanges nothing. With several, every rank makes the same calls; each trains on its part of a batch of
  /// data.batch_size * world size samples, and rank 0 reads and writes the files.
  Trainer(const Config& config, std::string config_hash, Backend& backend, const Model& model, const Dataset& training,
          const Dataset* evaluation, TrainObserver& observer, Communicator* communicator = nullptr);

  /// Throws OutOfMemory with the plan's figure and a batch that fits when a step would not fit into memory. Quick, and
  /// meant to come before compile(), whose search takes memory too.
  void check_memory() const;
  /// Compiles the plans; result() then has every figure that is known before memory is taken.
  void compile();
  /// Takes memory and sets up the starting state: initial, loaded or resumed. Throws OutOfMemory likewise, now that the
  /// kernels' workspace is known too.
  void prepare();
  /// Trains to the end, or until a signal or divergence, as the result's status tells. Throws Error on I/O.
  void train();
  /// Evaluates the present weights once, over all of `evaluation`.
  EvalResult evaluate_now();
  /// On rank 0, writes the weights under the model's public names, and config.json beside them where other tools want
  /// one.
  void export_weights(const std::filesystem::path& path) const;

  /// What was measured so far; holds also after train() threw.
  const RunResult& result() const { return result_; }

 private:
  void watch_gpu(const std::string& pci_bus_id);
  void compile_plans();
  PlanSet make_plans(Mode mode, std::int64_t batch);
  /// Compiles what the first batches need, so that few plans are compiled while steps run; their mean cost.
  Cost compile_for_first_batches(PlanSet& plans, const Dataset& data, LoaderOptions options);
  void set_up_start();
  /// Throws OutOfMemory unless a step and `workspace` bytes fit into memory.
  void require_memory(std::int64_t workspace) const;
  void restore();
  void count_steps();
  int signal() const;
  /// A step whose launches are made, and the values that the host wants of it.
  struct Flight {
    std::int64_t step = 0;
    RankStep mine;
    double waited_before = 0;                       // Ranks::waited_seconds
    double started = 0;                             // seconds since the start
    std::vector<std::unique_ptr<Readback>> losses;  // by micro-batch
    std::unique_ptr<Readback> loss_scale;           // null without loss scaling
  };

  void run_step(Loader& loader, std::int64_t step);
  void launch_step(Loader& loader, std::int64_t step, Flight& flight);
  void launch_micro_step(Loader& loader, std::int64_t step, std::int64_t micro, Flight& flight);
  /// The plan for a batch, compiled now if it is the first of its kind; notes in `mine` when it is not ready to run the
  /// phases up to `last` as all later ones will.
  PlanSet::Member& plan_for(const Batch& batch, Phase last, RankStep& mine);
  void finish_step(Flight& flight);
  /// Waits for the step that is still under way, if one is.
  void finish_flight();
  void record_step(std::int64_t step, const TrainObserver::Step& measured, std::span<const RankStep> by_rank);
  void start_measuring();
  void end_measuring();
  /// What the guards of all ranks' batch norms found; a note when it is too much.
  void collect_guard();
  bool diverged(double loss);
  void interrupted(int signal, std::int64_t step);
  void note_loss_scale(std::int64_t step, std::span<const float> state);
  void write_checkpoint(std::int64_t step);

  const Config& config_;
  std::string config_hash_;
  Backend& backend_;
  const Model& model_;
  const Dataset& training_data_;
  const Dataset* evaluation_data_;
  TrainObserver& observer_;
  Ranks ranks_;
  std::shared_ptr<Collectives> collectives_;  // of gradients; null: one rank
  int agreed_signal_ = 0;                     // of several ranks
  std::optional<GpuWatch> gpu_watch_;         // rank 0's, where there is a GPU to watch
  ExchangeTimes exchanged_before_;            // the measured steps
  Stopwatch since_start_;
  RunResult result_;

  Variables variables_;
  std::optional<PlanSet> training_;
  std::optional<PlanSet> evaluation_;
  std::optional<PlanMemory> memory_;
  Schedule schedule_;
  std::int64_t steps_per_epoch_ = 0;
  std::int64_t total_steps_ = 0;
  int bad_loss_steps_ = 0;
  std::array<Flight, 2> flights_;  // the step being launched and, on a device that runs ahead, the one before it
  Flight* under_way_ = nullptr;
  double last_finish_ = 0;  // seconds since the start
};

}  // namespace ptrain

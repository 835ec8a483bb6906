// A run's checkpoints, which rank 0 reads and writes, and resuming from one.
#pragma once

#include "core/config/config.h"
#include "core/data/dataset.h"
#include "core/exec/variables.h"
#include "core/io/incremental_checkpoints.h"
#include "core/model/model.h"
#include "core/train/ranks.h"
#include "core/train/state/best_model.h"
#include "core/train/train_observer.h"

#include <optional>
#include <set>
#include <string>
#include <vector>

namespace ptrain {

/// The precision that a checkpoint was trained at.
struct TrainedAmp {
  AmpLevel level = AmpLevel::O0;
  AmpDType dtype = AmpDType::automatic;
};

/// Where a run starts or resumes training.
struct StartingPoint {
  std::int64_t first_step = 0;          // steps before this run
  std::optional<double> first_loss;     // of the whole training; absent before its first step
  std::string resumed_from;             // checkpoint; empty: none
  BestModel::State best{};              // of the whole training
  double earlier_seconds = 0;           // steps and evaluations before this run
  std::optional<TargetReport> reached;  // train.target, before this run
  std::vector<std::string> untrained;   // tensors in neither weights nor checkpoint: all, or a classifier's
};

/// The AMP of the checkpoint that a run in `folder` resumes from, by the key `resume`; none if it resumes from none, or
/// from one without it. Throws Error{failed} naming a file that cannot be read.
std::optional<TrainedAmp> trained_amp(const std::string& resume, const std::string& folder);

/// A training's state in a checkpoint, in addition to its variables.
struct TrainingState {
  std::int64_t step = 0, epoch = 0;  // completed
  double first_loss = 0;
  double seconds = 0;  // of steps and evaluations, including earlier runs
  BestModel::State best{};
  std::optional<TargetReport> reached;  // train.target
};

class Checkpoints {
 public:
  /// All but the hash must outlive it.
  Checkpoints(const Config& config, std::string config_hash, const Model& model, const Ranks& ranks,
              const Dataset& training);

  /// On rank 0, restores the checkpoint of `resume` or, for auto, the newest intact one in output.dir; starts from the
  /// beginning when there is none. Notes say which. Throws Error{failed} naming a file that cannot be read or has
  /// another model, optimizer or precision.
  StartingPoint restore(Variables& variables, TrainObserver& observer) const;
  /// Writes a checkpoint; every rank calls it. Throws RankFailure naming a rank whose parameters differ from
  /// rank 0's, Error{failed} on I/O.
  void write(Variables& variables, const TrainingState& state);
  /// Writes the last checkpoint again with its variables and another state; every rank calls it. Throws Error{failed}
  /// on I/O.
  void update_last(const TrainingState& state);
  /// Sets parameters and running statistics to their mean over the newest train.average_checkpoints checkpoints of this
  /// training, which has taken `done` steps and been resumed at `first_step`; a note names them. Checkpoints of
  /// interruptions do not count, so that the mean does not depend on these. Every rank calls it. Throws Error{failed}
  /// naming a file that cannot be read.
  void average(Variables& variables, std::int64_t first_step, std::int64_t done, TrainObserver& observer) const;

  /// The last one written; empty: none, or not rank 0.
  const std::string& last() const { return last_; }

 private:
  std::int64_t samples_per_step() const;
  CheckpointInfo describe(const TrainingState& state) const;
  /// How many of the newest checkpoints stay when that of `step` is written.
  int count_kept(std::int64_t step) const;
  bool is_regular(std::uint64_t step) const;
  /// Those to average, in the order of their steps, and notes on others.
  std::vector<Checkpoint> load_last(std::int64_t first_step, std::int64_t done, TrainObserver& observer) const;
  /// The training data's, computed once.
  const std::string& fingerprint() const;
  void require_same_optimizer(const CheckpointInfo& info, const std::filesystem::path& file) const;

  const Config& config_;
  std::string config_hash_;
  const Model& model_;
  const Ranks& ranks_;
  const Dataset& training_;
  mutable std::string fingerprint_;
  IncrementalCheckpoints saver_;
  std::string last_;
  std::set<std::uint64_t> written_;  // steps, on rank 0
};

}  // namespace ptrain

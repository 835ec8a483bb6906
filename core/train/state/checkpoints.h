// A run's checkpoints, which rank 0 reads and writes, and where training goes on from one.
#pragma once

#include "core/config/config.h"
#include "core/exec/variables.h"
#include "core/io/checkpoint.h"
#include "core/model/model.h"
#include "core/train/ranks.h"
#include "core/train/state/best_model.h"
#include "core/train/train_observer.h"

#include <optional>
#include <string>

namespace ptrain {

/// The precision that a checkpoint was trained at.
struct TrainedAmp {
  AmpLevel level = AmpLevel::O0;
  AmpDType dtype = AmpDType::automatic;
};

/// Where a run takes training up.
struct StartingPoint {
  std::int64_t first_step = 0;         // steps done before this run
  std::optional<double> first_loss;    // of the whole training; absent until its first step is done
  std::string resumed_from;            // checkpoint; empty: none
  BestModel::State best{};             // of the whole training
  double earlier_seconds = 0;          // of steps and evaluations before this run
  std::vector<std::string> untrained;  // tensors that neither weights nor checkpoint gave: all, or a classifier's
};

/// The AMP of the checkpoint that `config` resumes from; none where it resumes from none, or from one that does not
/// say. Throws Error{failed} naming a file that cannot be read.
std::optional<TrainedAmp> trained_amp(const Config& config);

/// What a checkpoint says of a training beside its variables.
struct TrainingState {
  std::int64_t step = 0, epoch = 0;  // done
  double first_loss = 0;
  double seconds = 0;  // of steps and evaluations, of all runs that were resumed
  BestModel::State best{};
};

class Checkpoints {
 public:
  /// All but the hash must outlive it.
  Checkpoints(const Config& config, std::string config_hash, const Model& model, const Ranks& ranks,
              std::int64_t training_samples);

  /// Rank 0: restores the checkpoint that `resume` names or, where it says auto, the newest of output.dir that is
  /// whole; the beginning when there is none. Notes tell what was found. Throws Error{failed} naming a file that cannot
  /// be read or is of another model, optimizer or precision.
  StartingPoint restore(Variables& variables, TrainObserver& observer) const;
  /// Writes one; every rank calls it. Throws RankFailure naming a rank whose parameters differ from
  /// rank 0's, Error{failed} on I/O.
  void write(const Variables& variables, const TrainingState& state);

  /// The last one written; empty: none, or not rank 0.
  const std::string& last() const { return last_; }

 private:
  std::int64_t samples_per_step() const;
  void require_same_optimizer(const CheckpointInfo& info, const std::filesystem::path& file) const;

  const Config& config_;
  std::string config_hash_;
  const Model& model_;
  const Ranks& ranks_;
  std::int64_t training_samples_;
  std::string last_;
};

}  // namespace ptrain

// The parts of a training: what images and batches each takes, and which steps are its.
#pragma once

#include "core/config/config.h"
#include "core/data/loader/loader.h"
#include "core/model/model.h"
#include "core/train/ranks.h"

#include <string>
#include <vector>

namespace ptrain {

/// What a phase's end is counted in.
enum class PhaseUnit { share, epochs, steps };

struct TrainingStage {
  std::int64_t batch_size = 1;  // per rank
  ImageForm images = {};        // no size said: the data's own
  double lr_scale = 1;          // of the schedule's rate
  double until = 1;             // its end, in `unit`; the last one's is the training's
  PhaseUnit unit = PhaseUnit::share;

  // What count_steps finds:
  std::int64_t first_step = 0, steps = 0;
  std::int64_t steps_per_epoch = 1;
  std::int64_t steps_before = 0;  // that its batches would have taken for the data before it
};

/// What train.phases or train.resize ask for; one phase where they ask for nothing.
std::vector<TrainingStage> configured_phases(const Config& config);

/// Of batches of so many samples, each as long as the longest; images of `size`, none said: the data's own.
Bucket full_bucket(std::int64_t rows, const DatasetInfo& data, ImageSize size = {});

/// The batches of all phases, the one with the most pixels or rows first; `data` is what sizes are its own.
std::vector<Bucket> phase_buckets(const Config& config, const DatasetInfo& data);

/// What the next step begins with.
struct DataPosition {
  std::int64_t epoch = 0;
  std::int64_t step = 0;  // of the epoch
};

struct StepCounts {
  std::vector<TrainingStage> phases{TrainingStage{}};  // one behind the other, at least one
  std::int64_t total_steps = 0;                        // of the whole training

  /// Of step `step`, counted from 0; of the steps behind the last phase, that one.
  std::size_t find_phase(std::int64_t step) const;
  /// After `done` steps.
  DataPosition position(std::int64_t done) const;
  /// Passes over the data in the first `done` steps.
  double epochs(std::int64_t done) const;
  /// Whether step `done` - 1 was an epoch's last.
  bool epoch_ends(std::int64_t done) const { return done > 0 && position(done).epoch > position(done - 1).epoch; }
  /// The number of steps in the first `epochs` passes over the data.
  std::int64_t steps_until(double epochs) const;
};

/// Throws Error{usage} when an epoch of `training` makes no step, could not be shared out evenly, or a phase has none.
StepCounts count_steps(const Config& config, const Ranks& ranks, const Dataset& training);

/// How this rank's loader gives a phase's batches.
LoaderOptions loader_options(const Config& config, const TrainingStage& phase, const Ranks& ranks);

/// "128 px, batch 64".
std::string phase_text(const TrainingStage& phase);

}  // namespace ptrain

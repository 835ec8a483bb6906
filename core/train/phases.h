// The phases of a training: their images, batches and steps.
#pragma once

#include "core/config/config.h"
#include "core/data/loader/loader.h"
#include "core/model/model.h"

#include <string>
#include <vector>

namespace ptrain {

/// What a run is for: evaluations take no training step.
enum class OutputUse { training, evaluation };

/// The unit of a phase's end.
enum class PhaseUnit { share, epochs, steps };

struct TrainingStage {
  std::int64_t batch_size = 1;              // per rank
  ImageForm images = {};                    // no size: the data's own
  std::vector<ImageSize> drawn_sizes = {};  // one is drawn for each step instead; empty: images.size
  double lr_scale = 1;                      // multiplies the schedule's rate
  double until = 1;                         // its end, in `unit`; the last phase ends with training
  PhaseUnit unit = PhaseUnit::share;
  bool is_listed = false;  // in train.phases

  // Computed by count_steps:
  std::int64_t first_step = 0, steps = 0;
  std::int64_t steps_per_epoch = 1;
  std::int64_t micro_batches = 1, last_micro_batches = 1;  // per step, and in an epoch's last step
  std::int64_t steps_before = 0;  // steps that the phase's batches would have needed for the data before it
};

/// The phases of train.phases or train.resize; one phase if neither is set.
std::vector<TrainingStage> configured_phases(const TrainConfig& train, const DataConfig& data);

/// The extents of batches of `rows` samples of maximum length; images of `size`, or the data's own if empty.
Bucket full_bucket(std::int64_t rows, const Dataset& data, ImageSize size = {});

/// The sizes of a phase's images; {} where they have the data's own.
std::vector<ImageSize> find_image_sizes(const TrainingStage& phase);

/// Their batch extents, the one with the most pixels or rows first; `data` provides the default size.
std::vector<Bucket> phase_buckets(const std::vector<TrainingStage>& phases, const Dataset& data);

/// The position in the data before a step.
struct DataPosition {
  std::int64_t epoch = 0;
  std::int64_t step = 0;  // within the epoch
};

struct StepCounts {
  std::vector<TrainingStage> phases{TrainingStage{}};  // consecutive, at least one
  std::int64_t total_steps = 0;                        // of the whole training

  /// The phase of step `step`, counted from 0; the last phase for steps after it.
  std::size_t find_phase(std::int64_t step) const;
  /// The position after `done` steps.
  DataPosition position(std::int64_t done) const;
  /// The number of micro-batches in step `step`, counted from 0.
  std::int64_t micro_batches(std::int64_t step) const;
  /// Passes over the data in the first `done` steps.
  double epochs(std::int64_t done) const;
  /// Whether step `done` - 1 was an epoch's last.
  bool epoch_ends(std::int64_t done) const { return done > 0 && position(done).epoch > position(done - 1).epoch; }
  /// The number of steps in the first `epochs` passes over the data.
  std::int64_t steps_until(double epochs) const;
};

/// `loader` is a rank's. Throws Error{usage} when an epoch of `training` makes no step or cannot be divided evenly, or
/// a phase has no step.
StepCounts count_steps(const TrainConfig& train, std::vector<TrainingStage> phases, const LoaderOptions& loader,
                       const Dataset& training, OutputUse use = OutputUse::training);

/// The options of a rank's loader in a phase.
LoaderOptions in_phase(LoaderOptions loader, const TrainingStage& phase);

/// "128 px, batch 64".
std::string phase_text(const TrainingStage& phase);

}  // namespace ptrain

// How a run starts: its weights, the step that it goes on from, and how many steps there are.
#pragma once

#include "core/config/config.h"
#include "core/data/dataset.h"
#include "core/train/state/checkpoints.h"

namespace ptrain {

/// Puts the starting state into the variables: initial, loaded or resumed, the same on every rank. Every rank calls it.
/// Throws Error{failed} naming a file of weights or a checkpoint that does not fit.
StartingPoint set_up_start(const Config& config, const Model& model, const Checkpoints& checkpoints, const Ranks& ranks,
                           Variables& variables, TrainObserver& observer);

struct StepCounts {
  std::int64_t total_steps = 0;  // of the whole training
  std::int64_t steps_per_epoch = 0;
};

/// Throws Error{usage} when an epoch of `training` makes no step, or could not be shared out evenly.
StepCounts count_steps(const Config& config, const Ranks& ranks, const Dataset& training);

}  // namespace ptrain

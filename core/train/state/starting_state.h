// The starting state of a run: its weights, and the step that it continues from.
#pragma once

#include "core/config/config.h"
#include "core/train/state/checkpoints.h"

namespace ptrain {

/// Sets the variables to the starting state: initial, loaded or resumed, the same on every rank. Every rank calls it.
/// Throws Error{failed} naming a file of weights or a checkpoint that does not fit.
StartingPoint set_up_start(const Config& config, const Model& model, const Checkpoints& checkpoints, const Ranks& ranks,
                           Variables& variables, TrainObserver& observer);

}  // namespace ptrain

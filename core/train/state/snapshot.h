// Saves the variables of a run in a checkpoint, and restores them.
#pragma once

#include "core/exec/variables.h"
#include "core/io/checkpoint.h"
#include "core/train/state/sharded_state.h"

namespace ptrain {

/// Saves every variable that steps do not recompute, with the whole tensors of `sharded` in place of this rank's parts.
/// Returns the checkpoint's path. Throws as save_checkpoint.
std::filesystem::path save_snapshot(const std::filesystem::path& directory, const CheckpointInfo& info,
                                    const Variables& variables, const WholeState& sharded, int keep);

/// Restores them; returns the whole tensors of which this rank has a part. Throws Error{failed} naming the file when it
/// has another model, optimizer or precision.
WholeState restore_snapshot(const Checkpoint& checkpoint, const std::string& model, Variables& variables);

/// Sets each parameter and running statistic to its mean over one or more checkpoints, summed in double in their order.
/// The rest of the state stays. Throws as restore_snapshot.
void average_snapshots(std::span<const Checkpoint> checkpoints, const std::string& model, Variables& variables);

}  // namespace ptrain

// Saves the variables of a run in a checkpoint, and restores them.
#pragma once

#include "core/exec/variables.h"
#include "core/io/incremental_checkpoints.h"
#include "core/model/model.h"

namespace ptrain {

/// How this version orders the parameters of flat::master and of moments: "layout" of CheckpointInfo::state. 1: as the
/// model does; 2: those with low-precision copies first.
inline constexpr int flat_layout = 2;

/// Saves every variable that steps do not recompute; of what ranks divide, the whole tensors (WholeState), of a dynamic
/// table the rows in use (RowsInUse). `saver` may save of sparse tables what has changed alone. Returns the
/// checkpoint's path. Throws as save_checkpoint.
std::filesystem::path save_snapshot(const std::filesystem::path& directory, const CheckpointInfo& info,
                                    const Variables& variables, int keep, IncrementalCheckpoints& saver);

/// Restores them. Throws Error{failed} naming the file when it has another model, optimizer, precision or layout.
void restore_snapshot(const Checkpoint& checkpoint, const Model& model, Variables& variables);

/// Sets each parameter and running statistic to its mean over one or more checkpoints, summed in double in their order.
/// The rest of the state stays. Throws as restore_snapshot.
void average_snapshots(std::span<const Checkpoint> checkpoints, const std::string& model, Variables& variables);

}  // namespace ptrain

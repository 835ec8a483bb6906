// Saves the variables of a run in a checkpoint, and restores them.
#pragma once

#include "core/exec/variables.h"
#include "core/io/checkpoint.h"

namespace ptrain {

/// Saves every variable that steps do not recompute. Returns the checkpoint's path. Throws as save_checkpoint.
std::filesystem::path save_snapshot(const std::filesystem::path& directory, const CheckpointInfo& info,
                                    const Variables& variables, int keep);

/// Restores them. Throws Error{failed} naming the file when it has another model, optimizer or precision.
void restore_snapshot(const Checkpoint& checkpoint, const std::string& model, Variables& variables);

}  // namespace ptrain

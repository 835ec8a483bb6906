// The variables of a run as a checkpoint, and back.
#pragma once

#include "core/exec/variables.h"
#include "core/io/checkpoint.h"

namespace ptrain {

/// Saves every variable that a step does not compute anew. Returns the checkpoint's path. Throws as save_checkpoint.
std::filesystem::path save_snapshot(const std::filesystem::path& directory, const CheckpointInfo& info,
                                    const Variables& variables, int keep);

/// Restores them. Throws Error{failed} naming the file when it is of another model, optimizer or precision.
void restore_snapshot(const Checkpoint& checkpoint, const std::string& model, Variables& variables);

}  // namespace ptrain

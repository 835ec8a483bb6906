// The writing half of the checkpoint format, for save_checkpoint; the reading half is public in checkpoint.h.
#pragma once

#include "core/io/checkpoint.h"

namespace ptrain {

/// Streams one checkpoint into `file`; the caller commits it. Holds no copy of a tensor.
void write_checkpoint(AtomicFile& file, const CheckpointInfo& info, std::span<const NamedTensor> tensors);

}  // namespace ptrain

// The bytes of one checkpoint: the writer that save_checkpoint uses, and the reader of the first format. What reads
// either is public in checkpoint.h.
#pragma once

#include "core/io/atomic_file.h"
#include "core/io/checkpoint.h"

namespace ptrain {

/// Streams one checkpoint into `file`; the caller commits it. Holds no copy of a tensor.
void write_checkpoint(AtomicFile& file, const CheckpointInfo& info, std::span<const NamedTensor> tensors);

/// Whether the file starts as one of the first format does.
bool is_checkpoint_v1(std::span<const std::byte> bytes);

/// What parse_checkpoint does, for a file of the first format.
ParsedCheckpoint parse_checkpoint_v1(std::span<const std::byte> bytes, std::string_view file);

}  // namespace ptrain

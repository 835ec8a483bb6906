// The file format of a checkpoint: save_checkpoint's writer, and the reader of the first format. checkpoint.h has the
// public readers.
#pragma once

#include "core/io/atomic_file.h"
#include "core/io/checkpoint.h"
#include "core/io/safetensors.h"

namespace ptrain {

/// Writes one checkpoint to `file`, without copying tensors; the caller commits it.
void write_checkpoint(AtomicFile& file, const CheckpointInfo& info, std::span<const NamedTensor> tensors);

/// Whether a file of that metadata is a checkpoint, of any version.
bool is_of_checkpoint(const SafetensorsMetadata& metadata);
/// The step of a checkpoint's base; none where it has none. Throws as SafetensorsFile does.
std::optional<std::uint64_t> read_base_step(const std::filesystem::path& path);

/// Whether the file begins like one of the first format.
bool is_checkpoint_v1(std::span<const std::byte> bytes);

/// Does what parse_checkpoint does, for a file of the first format.
ParsedCheckpoint parse_checkpoint_v1(std::span<const std::byte> bytes, std::string_view file);

}  // namespace ptrain

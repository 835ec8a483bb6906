// A tensor in a file: a name, a type, a shape and bytes that it does not own.
#pragma once

#include "core/base/block_format.h"
#include "core/base/dtype.h"
#include "core/base/shape.h"

#include <cstddef>
#include <optional>
#include <span>
#include <string>
#include <vector>

namespace ptrain {

/// `bytes` are shape.count() little-endian elements, row-major. Bytes from a file point into its mapping, live as long
/// as the reader object, and need not be aligned for the element type.
struct NamedTensor {
  std::string name;
  DType dtype = DType::f32;
  Shape shape;
  std::span<const std::byte> bytes;
  std::string other_type = {};         // the file's name of a type that is no DType, "F64"; dtype then means nothing
  std::int64_t interleaved_heads = 0;  // each head's rows are (0, D/2, 1, D/2 + 1, ...) in the file; 0: in order
};

/// Whether read_floats converts the tensor's type.
bool holds_floats(const NamedTensor& tensor);

/// Converts a f32, bf16, f16 or F64 tensor, or one of GGUF's blocks, into `out` (shape.count() floats), the rows of
/// interleaved heads in order. Throws Error{failed} when the type is none of these or the sizes differ.
void read_floats(const NamedTensor& tensor, std::span<float> out);
std::vector<float> to_floats(const NamedTensor& tensor);

/// The format of a GGUF file's type, "Q4_K"; none for others.
std::optional<BlockFormat> find_block_format(std::string_view gguf_type);
/// The format of a tensor that a file has in blocks; none: it has floats.
std::optional<BlockFormat> find_block_format(const NamedTensor& tensor);
/// The blocks of such a tensor, the rows of interleaved heads in order. Throws as read_floats does.
std::vector<std::byte> copy_blocks(const NamedTensor& tensor);

}  // namespace ptrain

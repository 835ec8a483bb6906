// A tensor in a file: a name, a type, a shape and bytes that it does not own.
#pragma once

#include "core/base/dtype.h"
#include "core/base/shape.h"

#include <cstddef>
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
  std::string other_type = {};  // the file's name of a type that is no DType, "F64"; dtype then means nothing
};

/// Converts a f32, bf16, f16 or F64 tensor into `out` (shape.count() floats).
/// Throws Error{failed} when the type is none of these or the sizes differ.
void read_floats(const NamedTensor& tensor, std::span<float> out);
std::vector<float> to_floats(const NamedTensor& tensor);

}  // namespace ptrain

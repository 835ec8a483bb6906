// Parses tensors from a request's JSON and the binary data after it.
#pragma once

#include "core/runtime/tensors.h"

#include <nlohmann/json.hpp>

#include <string>
#include <string_view>
#include <vector>

namespace ptrain {

/// "FP32": the protocol's name of a type.
std::string_view name_datatype(DType dtype);

/// One entry of `inputs`: its numbers or, for datatype BYTES, its texts.
struct RequestTensor {
  std::string name;
  DType type = DType::u8;
  bool texts_given = false;
  std::vector<std::int64_t> shape;
  std::vector<std::byte> numbers;
  std::vector<std::string> texts;

  InputTensor view() const { return {name, type, shape, numbers.data()}; }
};

/// `data` may be nested like its shape, or flat. Throws Error{usage} naming what is missing, of another type, out of
/// its datatype's range, in conflict with the shape, or larger than `most_elements`. A tensor with the parameter
/// binary_data_size takes that many bytes from the start of `binary`: little-endian numbers, or texts with a length of
/// four bytes before each.
RequestTensor parse_tensor(const nlohmann::json& input, std::int64_t most_elements, std::string_view& binary);

}  // namespace ptrain

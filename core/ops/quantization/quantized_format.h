// The mapping between 8-bit integers and real values.
#pragma once

#include "core/graph/tensor_desc.h"

#include <cstdint>
#include <string>

namespace ptrain {

/// value = scale * integer, without a zero point: u8 from 0 to 255 for non-negative values, s8 from -128 to 127.
struct QuantizedFormat {
  DType dtype = DType::s8;
  float scale = 1;

  bool operator==(const QuantizedFormat&) const = default;
  /// "u8*0.023"
  std::string to_string() const;
};

/// Whether a dtype is an 8-bit integer.
inline bool is_int8(DType dtype) { return dtype == DType::u8 || dtype == DType::s8; }

/// Calls visit with a zero of an 8-bit integer's type.
template <typename Visitor>
void visit_int8(DType dtype, Visitor&& visit) {
  dtype == DType::u8 ? visit(std::uint8_t{}) : visit(std::int8_t{});
}

}  // namespace ptrain

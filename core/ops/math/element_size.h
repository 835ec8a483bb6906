// Dispatch from a dtype to an unsigned integer of its size, for kernels that only move elements.
#pragma once

#include "core/base/dtype.h"

namespace ptrain {

/// Calls visit(T{}) with the unsigned integer that has the size of an element.
template <typename Visitor>
void visit_size(DType dtype, Visitor&& visit) {
  switch (element_size(dtype)) {
    case 1:
      visit(std::uint8_t{});
      break;
    case 2:
      visit(std::uint16_t{});
      break;
    case 4:
      visit(std::uint32_t{});
      break;
    default:
      visit(std::uint64_t{});
      break;
  }
}

}  // namespace ptrain

// Checks that shape inference makes; each throws std::invalid_argument, to which the graph adds the node's name.
#pragma once

#include "core/graph/tensor_desc.h"

#include <fmt/format.h>

#include <span>
#include <stdexcept>

namespace ptrain {

template <typename... Args>
void check(bool condition, fmt::format_string<Args...> format, Args&&... args) {
  if (!condition) throw std::invalid_argument(fmt::format(format, std::forward<Args>(args)...));
}

inline void check_count(std::span<const TensorDesc> inputs, std::size_t expected) {
  check(inputs.size() == expected, "expected {} inputs, got {}", expected, inputs.size());
}

inline void check_floating(const TensorDesc& desc) {
  check(is_floating(desc.dtype), "expected floating-point data, got {}", desc.to_string());
}

inline void check_desc(const TensorDesc& desc, const TensorDesc& expected) {
  check(desc == expected, "expected {}, got {}", expected.to_string(), desc.to_string());
}

}  // namespace ptrain

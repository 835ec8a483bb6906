// Comparisons of two numbers.
#pragma once

#include "core/ops/tensor/select.h"

#include <type_traits>

namespace ptrain {

/// Calls visit(std::integral_constant) with the comparison as a compile-time constant.
template <typename Visitor>
void visit_comparison(Comparison comparison, Visitor&& visit) {
  const auto with = [&](auto constant) {
    if (comparison == decltype(constant)::value) visit(constant);
  };
  with(std::integral_constant<Comparison, Comparison::equal>{});
  with(std::integral_constant<Comparison, Comparison::not_equal>{});
  with(std::integral_constant<Comparison, Comparison::less>{});
  with(std::integral_constant<Comparison, Comparison::less_equal>{});
  with(std::integral_constant<Comparison, Comparison::greater>{});
  with(std::integral_constant<Comparison, Comparison::greater_equal>{});
}

/// Whether the comparison holds for a and b, float or i32.
template <Comparison comparison, typename V>
PTRAIN_HD_INLINE bool holds(V a, V b) {
  if constexpr (comparison == Comparison::equal) {
    return a == b;
  } else if constexpr (comparison == Comparison::not_equal) {
    return a != b;
  } else if constexpr (comparison == Comparison::less) {
    return a < b;
  } else if constexpr (comparison == Comparison::less_equal) {
    return a <= b;
  } else if constexpr (comparison == Comparison::greater) {
    return a > b;
  } else {
    static_assert(comparison == Comparison::greater_equal, "a comparison without arithmetic");
    return a >= b;
  }
}

}  // namespace ptrain

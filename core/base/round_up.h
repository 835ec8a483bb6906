// Sizes in whole cache lines, pages, lanes.
#pragma once

#include <type_traits>

namespace ptrain {

/// The least multiple of `granule` that is at least `size`; both are integers and not negative.
template <typename T>
constexpr T round_up(T size, std::type_identity_t<T> granule) {
  return (size + granule - 1) / granule * granule;
}

}  // namespace ptrain

// The activations that norms can fuse, on sixteen floats.
#pragma once

#include "core/cpu/simd/vector.h"
#include "core/ops/math/activation_math.h"

namespace ptrain::cpu {

/// activate, activation_gradient and the bits of gate_opening, for each lane.
template <Activation kind>
PTRAIN_INLINE f32x16 activate16(f32x16 v) {
  return by_registers([](auto part) { return activate<kind>(part); }, v);
}
template <Activation kind>
PTRAIN_INLINE f32x16 activation_gradient16(f32x16 dy, f32x16 saved) {
  return by_registers([](auto d, auto s) { return activation_gradient<kind>(d, s); }, dy, saved);
}
template <Activation kind>
PTRAIN_INLINE std::uint16_t gate_bits(f32x16 y) {
  return positive_bits(by_registers([](auto part) { return gate_opening<kind>(part); }, y));
}

}  // namespace ptrain::cpu

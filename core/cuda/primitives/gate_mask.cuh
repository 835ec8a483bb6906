// Masks of gate activations, one bit per element (mask_desc, ops/normalization/batch_norm.h).
#pragma once

#include "core/cuda/primitives/dispatch.h"
#include "core/ops/math/activation_math.h"

namespace ptrain::cuda {

/// Writes the bits of the n outputs of the activation from element `at` on; nothing if `mask` is null.
template <Activation activation, int n>
__device__ inline void store_mask(std::uint8_t* mask, std::int64_t at, const float (&values)[n]) {
  if constexpr (n == pack && is_gate(activation)) {
    if (mask == nullptr) return;
    unsigned open = 0;
#pragma unroll
    for (int i = 0; i < n; ++i) open |= static_cast<unsigned>(gate_opening<activation>(values[i]) > 0.0f) << i;
    mask[at / n] = static_cast<std::uint8_t>(open);
  }
}

}  // namespace ptrain::cuda

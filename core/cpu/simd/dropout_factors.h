// Dropout's mask for consecutive elements, sixteen lanes at a time.
#pragma once

#include "core/ops/math/dropout_math.h"

#include <span>

namespace ptrain::cpu {

/// factors[i] = mask.factor(first + i) for count elements; `first` need not be aligned.
void dropout_factors(const DropoutMask& mask, std::uint64_t first, std::int64_t count, float* factors);

/// The mask of a run whose random state is input `slot` and whose parts have `elements` each; keeps everything when p
/// is 0, where that input is optional.
inline DropoutMask dropout_mask(float p, std::span<void* const> inputs, std::size_t slot, std::uint32_t stream,
                                std::int64_t elements) {
  if (p <= 0) return DropoutMask(0, 0, 0, 0);
  const auto* state = static_cast<const std::int64_t*>(inputs[slot]);
  DropoutMask mask(p, static_cast<std::uint64_t>(state[0]), static_cast<std::uint64_t>(state[1]), stream);
  mask.origin = static_cast<std::uint64_t>(state[2] * elements);
  return mask;
}

}  // namespace ptrain::cpu

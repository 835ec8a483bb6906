// Conversion between element types, and dropout factors for runs of elements.
#pragma once

#include "core/base/dtype.h"
#include "core/base/parallel.h"
#include "core/ops/math/dropout.h"

namespace ptrain::cpu {

/// to[i] = from[i], rounded; one thread.
template <typename From, typename To>
void convert_run(const From* from, To* to, std::int64_t count) {
  for (std::int64_t i = 0; i < count; ++i) to[i] = To(static_cast<float>(from[i]));
}

/// The same on all threads, for dtypes known at run time.
void convert(DType from_dtype, const void* from, DType to_dtype, void* to, std::int64_t count);

/// factors[i] = mask.factor(first + i) for count elements; `first` need not be aligned.
void dropout_factors(const DropoutMask& mask, std::uint64_t first, std::int64_t count, float* factors);

/// The mask of a run whose seed and step lie in `rng`; keeps everything when `rng` is null.
inline DropoutMask dropout_mask(float p, const void* rng, std::uint32_t stream) {
  const auto* state = static_cast<const std::int64_t*>(rng);
  if (state == nullptr) return DropoutMask(0, 0, 0, 0);
  return DropoutMask(p, static_cast<std::uint64_t>(state[0]), static_cast<std::uint64_t>(state[1]), stream);
}

}  // namespace ptrain::cpu

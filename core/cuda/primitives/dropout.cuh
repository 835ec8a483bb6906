// Dropout's mask on the device: the same elements as in core/ops/math/dropout_math.h, several at a time.
#pragma once

#include "core/cuda/primitives/vector.cuh"
#include "core/ops/math/dropout_math.h"

namespace ptrain::cuda {

/// The words that the threads of a half warp draw for each other; one array per half warp, in shared memory.
using MaskWords = std::uint32_t[4][16];

/// Threads that draw one group of the mask together, a pack each.
inline constexpr int group_threads = static_cast<int>(DropoutMask::group) / pack;
static_assert(group_threads == 16, "a half warp");

/// The mask of a run whose random state is at `rng` on the device and whose parts have `elements` each, rounded up to
/// whole groups; it keeps everything when p is 0.
__device__ inline DropoutMask dropout_mask(float p, const std::int64_t* rng, std::uint32_t stream,
                                           std::int64_t elements) {
  if (p <= 0) return DropoutMask(0, 0, 0, 0);
  DropoutMask mask(p, static_cast<std::uint64_t>(rng[0]), static_cast<std::uint64_t>(rng[1]), stream);
  const std::uint64_t groups = (static_cast<std::uint64_t>(elements) + DropoutMask::group - 1) / DropoutMask::group;
  mask.origin = static_cast<std::uint64_t>(rng[2]) * groups * DropoutMask::group;
  return mask;
}

/// The factors of the pack of elements from `first` on. All threads of an aligned half warp call it together, for the
/// packs of one group in order: first = 128 g + 8 (threadIdx.x % 16).
/// Each draws one Philox block, which has a word for elements of every thread: of an element's index in its group the
/// low four bits choose the block, the next two the word, the top one the half of the word.
__device__ inline void group_factors(const DropoutMask& mask, std::uint64_t first, MaskWords& words,
                                     float (&factors)[pack]) {
  const unsigned thread = threadIdx.x % group_threads;
  const unsigned half_warp = 0xffffu << (threadIdx.x % 32 / group_threads * group_threads);
  const Philox4 drawn = mask.random.block((mask.origin + first) / DropoutMask::group * group_threads + thread);
  __syncwarp(half_warp);  // the last call's words have been read
  words[0][thread] = drawn.x;
  words[1][thread] = drawn.y;
  words[2][thread] = drawn.z;
  words[3][thread] = drawn.w;
  __syncwarp(half_warp);
  const std::uint32_t* row = &words[thread / 2 % 4][thread % 2 * pack];
  const unsigned shift = thread / 8 * 16;
#pragma unroll
  for (int i = 0; i < pack; ++i) factors[i] = ((row[i] >> shift) & 0xffffu) >= mask.threshold ? mask.scale : 0.0f;
}

}  // namespace ptrain::cuda

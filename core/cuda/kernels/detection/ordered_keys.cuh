// Keys that order candidates, the selection of the largest by a block, and their sorting. A key has the order of a
// number in its upper half, and of a position in its lower half: of equal numbers, the first position has the larger
// key.
#pragma once

#include "core/cuda/primitives/dispatch.h"
#include "core/cuda/primitives/vector.cuh"

#include <cstdint>

namespace ptrain::cuda {

using Key = unsigned long long;  // 0: none

__device__ inline Key make_key(std::uint32_t order, std::uint32_t position) {
  return static_cast<Key>(order) << 32 | (0xffffffffu - position);
}
__device__ inline Key make_key(float number, std::uint32_t position) {
  const std::uint32_t bits = float_to_bits(number);
  return make_key((bits & 0x80000000u) != 0 ? ~bits : bits | 0x80000000u, position);
}
__device__ inline float get_number(Key key) {
  const auto ordered = static_cast<std::uint32_t>(key >> 32);
  return bits_to_float((ordered & 0x80000000u) != 0 ? ordered & 0x7fffffffu : ~ordered);
}
__device__ inline std::uint32_t get_position(Key key) { return 0xffffffffu - static_cast<std::uint32_t>(key); }

/// Writes the `most` largest of read(i), begin <= i < end, in any order, and zeros after them. Bit by bit, eight at a
/// time, the prefix of the last of them is found. For all threads of a block of block_threads.
template <typename Read>
__device__ inline void select_largest(std::int64_t begin, std::int64_t end, int most, Key* to, Read read) {
  constexpr int bins = 256, digit = 8;
  __shared__ unsigned counts[bins];
  __shared__ unsigned written;
  __shared__ Key prefix;       // of the last key to be taken
  __shared__ unsigned wanted;  // of the keys with that prefix
  __shared__ bool all;         // keys with that prefix are taken
  __syncthreads();
  if (threadIdx.x == 0) {
    prefix = 0;
    wanted = static_cast<unsigned>(most);
    all = false;
  }
  __syncthreads();
  int shift = 64;
  while (shift > 0 && !all) {
    shift -= digit;
    for (int b = threadIdx.x; b < bins; b += block_threads) counts[b] = 0;
    __syncthreads();
    for (std::int64_t i = begin + threadIdx.x; i < end; i += block_threads) {
      const Key key = read(i);
      const bool has_prefix = shift + digit == 64 || key >> (shift + digit) == prefix;
      if (key != 0 && has_prefix) atomicAdd(&counts[key >> shift & (bins - 1)], 1u);
    }
    __syncthreads();
    if (threadIdx.x == 0) {
      int bin = bins - 1;
      while (bin > 0 && counts[bin] < wanted) wanted -= counts[bin--];
      prefix = prefix << digit | static_cast<Key>(bin);
      all = counts[bin] <= wanted;  // also where fewer keys are there than wanted
    }
    __syncthreads();
  }
  if (threadIdx.x == 0) written = 0;
  for (int i = threadIdx.x; i < most; i += block_threads) to[i] = 0;
  __syncthreads();
  for (std::int64_t i = begin + threadIdx.x; i < end; i += block_threads) {
    const Key key = read(i);
    if (key != 0 && key >> shift >= prefix) to[atomicAdd(&written, 1u)] = key;
  }
  __syncthreads();
}

/// Sorts keys, the largest first (bitonic); `slots` is a power of two. For all threads of a block of block_threads.
__device__ inline void sort_descending(Key* keys, int slots) {
  for (int size = 2; size <= slots; size *= 2) {
    for (int distance = size / 2; distance > 0; distance /= 2) {
      __syncthreads();
      for (int i = threadIdx.x; i < slots; i += block_threads) {
        const int other = i ^ distance;
        if (other < i) continue;
        const bool descending = (i & size) == 0;
        const Key first = keys[i], second = keys[other];
        if (descending == (first < second)) {
          keys[i] = second;
          keys[other] = first;
        }
      }
    }
  }
  __syncthreads();
}

}  // namespace ptrain::cuda

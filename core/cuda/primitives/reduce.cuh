// Sums over a warp and over a block, in a fixed order.
#pragma once

#include "core/cuda/primitives/dispatch.h"

namespace ptrain::cuda {

/// The sum of all 32 threads' values, in every one of them.
template <typename T>
__device__ inline T warp_sum(T value) {
#pragma unroll
  for (int distance = 16; distance > 0; distance /= 2) value += __shfl_xor_sync(0xffffffffu, value, distance);
  return value;
}

__device__ inline float warp_max(float value) {
#pragma unroll
  for (int distance = 16; distance > 0; distance /= 2) {
    value = fmaxf(value, __shfl_xor_sync(0xffffffffu, value, distance));
  }
  return value;
}

/// The sum over a block of block_threads threads, in thread 0. All threads call it.
template <typename T>
__device__ inline T block_sum(T value) {
  __shared__ T partial[block_threads / 32];
  value = warp_sum(value);
  __syncthreads();  // the last call's partial sums have been read
  if (threadIdx.x % 32 == 0) partial[threadIdx.x / 32] = value;
  __syncthreads();
  T total = 0;
  if (threadIdx.x == 0) {
    for (const T part : partial) total += part;
  }
  return total;
}

}  // namespace ptrain::cuda

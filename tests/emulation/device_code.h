// What nvcc knows and a C++ compiler does not; included before every rewritten source.
#pragma once

#include "tests/emulation/block_fibers.h"

#include <cuda_bf16.h>
#include <cuda_fp16.h>
#include <cuda_fp8.h>

#include <algorithm>
#include <bit>
#include <cmath>

#undef __global__
#undef __device__
#undef __host__
#undef __shared__
#undef __launch_bounds__
#define __global__
#define __device__
#define __host__
#define __shared__ static  // blocks run one after the other
#define __launch_bounds__(...)

#define threadIdx emulation::thread_index
#define blockIdx emulation::block_index
#define blockDim emulation::block_extent
#define gridDim emulation::grid_extent

inline void __syncthreads() { emulation::wait_for_block(); }
inline int __syncthreads_or(int condition) { return emulation::any_in_block(condition != 0); }
inline void __syncwarp(unsigned lanes = 0xffffffffu) { emulation::wait_for_warp(lanes); }
template <typename T>
T __shfl_xor_sync(unsigned, T value, int distance) {
  emulation::exchange(&value, sizeof value, static_cast<unsigned>(distance));
  return value;
}

/// As cuda_runtime.h has it for any pointer.
template <typename T>
cudaError_t cudaMalloc(T** memory, std::size_t bytes) {
  return cudaMalloc(reinterpret_cast<void**>(memory), bytes);
}

template <typename Word>
void __stwb(Word* to, Word word) {
  *to = word;
}

inline float __int_as_float(int bits) { return std::bit_cast<float>(bits); }
inline unsigned __float_as_uint(float value) { return std::bit_cast<unsigned>(value); }

/// Threads run one at a time.
template <typename T>
T atomicAdd(T* at, T value) {
  const T before = *at;
  *at = before + value;
  return before;
}
template <typename T>
T atomicMax(T* at, T value) {
  const T before = *at;
  *at = std::max(before, value);
  return before;
}

using std::isfinite;
using std::isinf;
using std::isnan;
inline int max(int a, int b) { return std::max(a, b); }
inline int min(int a, int b) { return std::min(a, b); }

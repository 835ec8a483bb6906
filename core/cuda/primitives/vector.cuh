// Loads and stores of several adjacent elements at once, computed as floats.
#pragma once

#include "core/cuda/primitives/dispatch.h"

#include <cuda_bf16.h>
#include <cuda_fp16.h>

#include <cstdint>

namespace ptrain::cuda {

/// The hardware's conversions; they round as the constructors of f16 and bf16 do.
__device__ inline float to_float(float value) { return value; }
__device__ inline float to_float(f16 value) { return __half2float(__ushort_as_half(value.bits)); }
__device__ inline float to_float(bf16 value) { return static_cast<float>(value); }

template <typename T>
__device__ inline T from_float(float value);
template <>
__device__ inline float from_float<float>(float value) {
  return value;
}
template <>
__device__ inline f16 from_float<f16>(float value) {
  f16 result;
  result.bits = __half_as_ushort(__float2half_rn(value));
  return result;
}
template <>
__device__ inline bf16 from_float<bf16>(float value) {
  bf16 result;
  result.bits = __bfloat16_as_ushort(__float2bfloat16_rn(value));
  return result;
}

template <typename T, int n>
struct alignas(n * sizeof(T) < 16 ? n * sizeof(T) : 16) Pack {
  T values[n];
};

/// `from` is aligned to the pack, or to 16 bytes if that is less.
template <int n, typename T>
__device__ inline void load(const T* from, float (&values)[n]) {
  const Pack<T, n> packed = *reinterpret_cast<const Pack<T, n>*>(from);
#pragma unroll
  for (int i = 0; i < n; ++i) values[i] = to_float(packed.values[i]);
}

/// Stores a pack by 16-byte instructions, which needs an intrinsic: for an assignment the compiler emits stores of
/// single elements in some loops.
template <int n, typename T>
__device__ inline void store(T* to, const float (&values)[n]) {
  static_assert(n == 1 || n == pack);
  if constexpr (n == 1) {
    *to = from_float<T>(values[0]);
  } else if constexpr (sizeof(T) == sizeof(float)) {
    __stwb(reinterpret_cast<float4*>(to), float4{values[0], values[1], values[2], values[3]});
    __stwb(reinterpret_cast<float4*>(to) + 1, float4{values[4], values[5], values[6], values[7]});
  } else {
    const auto two = [&](int i) {
      return from_float<T>(values[i]).bits | static_cast<unsigned>(from_float<T>(values[i + 1]).bits) << 16;
    };
    __stwb(reinterpret_cast<uint4*>(to), uint4{two(0), two(2), two(4), two(6)});
  }
}

/// This thread's index in the grid, and the number of threads.
__device__ inline std::int64_t grid_thread() {
  return static_cast<std::int64_t>(blockIdx.x) * blockDim.x + threadIdx.x;
}
__device__ inline std::int64_t grid_threads() { return static_cast<std::int64_t>(gridDim.x) * blockDim.x; }

}  // namespace ptrain::cuda

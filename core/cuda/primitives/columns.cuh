// How a block adds up columns: threads across, each with n neighbouring columns, by rows at once.
#pragma once

#include "core/cuda/primitives/launch.cuh"

#include <cstdint>

namespace ptrain::cuda {

inline constexpr int tile_columns = 32;  // of threads
inline constexpr int tile_rows = 8;

/// The first of a thread's n columns.
template <int n>
__device__ inline std::int64_t tile_column() {
  return (static_cast<std::int64_t>(blockIdx.x) * tile_columns + threadIdx.x) * n;
}

/// partial[blockIdx.y][column...] = the sums of the block's rows of threads, in order. All of a block's threads call
/// it.
template <int n>
__device__ inline void write_partial_sums(float (&sums)[n], std::int64_t columns, float* partial) {
  const std::int64_t column = tile_column<n>();
  __shared__ float tile[tile_rows][n][tile_columns];
#pragma unroll
  for (int i = 0; i < n; ++i) tile[threadIdx.y][i][threadIdx.x] = sums[i];
  __syncthreads();
  if (threadIdx.y != 0 || column >= columns) return;
#pragma unroll
  for (int i = 0; i < n; ++i) {
    for (int r = 1; r < tile_rows; ++r) sums[i] += tile[r][i][threadIdx.x];
    partial[static_cast<std::int64_t>(blockIdx.y) * columns + column + i] = sums[i];
  }
}

}  // namespace ptrain::cuda

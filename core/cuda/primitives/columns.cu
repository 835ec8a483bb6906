#include "core/cuda/primitives/columns.cuh"
#include "core/cuda/primitives/columns.h"

#include "core/cuda/primitives/dispatch.h"
#include "core/cuda/primitives/vector.cuh"

namespace ptrain::cuda {
namespace {

constexpr std::int64_t resident_blocks =
    2;  // of the sums: each thread has four loads under way, and parts are few to join

template <typename B, typename T>
__global__ void __launch_bounds__(block_threads)
    add_to_columns_kernel(const B* bias, T* y, std::int64_t count, std::int64_t columns) {
  for (std::int64_t i = grid_thread(); i < count; i += grid_threads()) {
    y[i] = from_float<T>(to_float(y[i]) + to_float(bias[i % columns]));
  }
}

/// Block (c, p) sums the rows p, p + parts... of 32 n columns into partial[p].
template <int n, typename T>
__global__ void __launch_bounds__(tile_columns* tile_rows)
    partial_sums_kernel(const T* x, std::int64_t rows, std::int64_t columns, float* partial) {
  const std::int64_t column = tile_column<n>();
  float sums[n] = {};
  if (column < columns) {
    const std::int64_t step = static_cast<std::int64_t>(gridDim.y) * tile_rows;
#pragma unroll 4
    for (std::int64_t r = static_cast<std::int64_t>(blockIdx.y) * tile_rows + threadIdx.y; r < rows; r += step) {
      float values[n];
      load(x + r * columns + column, values);
#pragma unroll
      for (int i = 0; i < n; ++i) sums[i] += values[i];
    }
  }
  write_partial_sums(sums, columns, partial);
}

/// Each row of a block's threads adds every tile_rows-th part; the rows are added in order.
template <typename S>
__global__ void __launch_bounds__(tile_columns* tile_rows)
    join_sums_kernel(const float* partial, std::int64_t parts, std::int64_t columns, S* sums) {
  const std::int64_t column = static_cast<std::int64_t>(blockIdx.x) * tile_columns + threadIdx.x;
  float sum = 0;
  if (column < columns) {
#pragma unroll 4
    for (std::int64_t p = threadIdx.y; p < parts; p += tile_rows) sum += partial[p * columns + column];
  }
  __shared__ float tile[tile_rows][tile_columns];
  tile[threadIdx.y][threadIdx.x] = sum;
  __syncthreads();
  if (threadIdx.y != 0 || column >= columns) return;
  for (int r = 1; r < tile_rows; ++r) sum += tile[r][threadIdx.x];
  sums[column] = from_float<S>(sum);
}

}  // namespace

void add_to_columns(const Device& device, DType bias_dtype, const void* bias, DType dtype, void* y, std::int64_t rows,
                    std::int64_t columns) {
  const std::int64_t count = rows * columns;
  visit_floating2(bias_dtype, dtype, [&](auto bias_zero, auto zero) {
    launch(add_to_columns_kernel<decltype(bias_zero), decltype(zero)>, grid_blocks(device, count), block_threads,
           device, static_cast<const decltype(bias_zero)*>(bias), static_cast<decltype(zero)*>(y), count, columns);
  });
}

std::int64_t row_parts(const Device& device, std::int64_t rows, std::int64_t columns, std::int64_t block_rows,
                       std::int64_t block_columns, std::int64_t resident) {
  const std::int64_t across = (columns + block_columns - 1) / block_columns;
  const std::int64_t wanted = std::max<std::int64_t>(1, resident * device.multiprocessors() / across);
  return std::clamp<std::int64_t>(rows / (4 * block_rows), 1, wanted);
}

void join_partial_sums(const Device& device, const float* partial, std::int64_t parts, std::int64_t columns,
                       DType sums_dtype, void* sums) {
  visit_floating(sums_dtype, [&](auto zero) {
    launch(join_sums_kernel<decltype(zero)>, blocks_for(columns, tile_columns), dim3(tile_columns, tile_rows), device,
           partial, parts, columns, static_cast<decltype(zero)*>(sums));
  });
}

ColumnSums::ColumnSums(const Device& device, std::int64_t rows, std::int64_t columns)
    : device_(device),
      rows_(rows),
      columns_(columns),
      parts_(row_parts(device, rows, columns, tile_rows, tile_columns * row_pack(columns), resident_blocks)) {}

void ColumnSums::run(DType dtype, const void* x, DType sums_dtype, void* sums, void* workspace) const {
  auto* partial = static_cast<float*>(workspace);
  visit_row_pack(columns_, dtype, [&](auto n, auto zero) {
    constexpr int packed = decltype(n)::value;
    const dim3 grid(blocks_for(columns_, tile_columns * packed), static_cast<unsigned>(parts_));
    launch(partial_sums_kernel<packed, decltype(zero)>, grid, dim3(tile_columns, tile_rows), device_,
           static_cast<const decltype(zero)*>(x), rows_, columns_, partial);
  });
  join_partial_sums(device_, partial, parts_, columns_, sums_dtype, sums);
}

}  // namespace ptrain::cuda

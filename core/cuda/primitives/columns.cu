#include "core/cuda/primitives/columns.h"
#include "core/cuda/primitives/launch.cuh"

#include "core/cuda/primitives/dispatch.h"
#include "core/cuda/primitives/vector.cuh"

namespace ptrain::cuda {
namespace {

constexpr int tile_columns = 32;
constexpr int tile_rows = 8;

template <typename B, typename T>
__global__ void __launch_bounds__(block_threads)
    add_to_columns_kernel(const B* bias, T* y, std::int64_t count, std::int64_t columns) {
  for (std::int64_t i = grid_thread(); i < count; i += grid_threads()) {
    y[i] = from_float<T>(to_float(y[i]) + to_float(bias[i % columns]));
  }
}

/// Block (c, p) sums the rows p, p + parts... of 32 columns into partial[p].
template <typename T>
__global__ void partial_sums_kernel(const T* x, std::int64_t rows, std::int64_t columns, float* partial) {
  const std::int64_t column = static_cast<std::int64_t>(blockIdx.x) * tile_columns + threadIdx.x;
  float sum = 0;
  if (column < columns) {
    const std::int64_t step = static_cast<std::int64_t>(gridDim.y) * tile_rows;
#pragma unroll 8
    for (std::int64_t r = static_cast<std::int64_t>(blockIdx.y) * tile_rows + threadIdx.y; r < rows; r += step) {
      sum += to_float(x[r * columns + column]);
    }
  }
  __shared__ float tile[tile_rows][tile_columns];
  tile[threadIdx.y][threadIdx.x] = sum;
  __syncthreads();
  if (threadIdx.y != 0 || column >= columns) return;
  for (int r = 1; r < tile_rows; ++r) sum += tile[r][threadIdx.x];
  partial[static_cast<std::int64_t>(blockIdx.y) * columns + column] = sum;
}

template <typename S>
__global__ void __launch_bounds__(block_threads)
    join_sums_kernel(const float* partial, std::int64_t parts, std::int64_t columns, S* sums) {
  const std::int64_t column = grid_thread();
  if (column >= columns) return;
  float sum = 0;
  for (std::int64_t p = 0; p < parts; ++p) sum += partial[p * columns + column];
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
                       std::int64_t block_columns) {
  const std::int64_t across = (columns + block_columns - 1) / block_columns;
  const std::int64_t wanted = std::max<std::int64_t>(1, 8 * device.multiprocessors() / across);
  return std::clamp<std::int64_t>(rows / (4 * block_rows), 1, wanted);
}

void join_partial_sums(const Device& device, const float* partial, std::int64_t parts, std::int64_t columns,
                       DType sums_dtype, void* sums) {
  visit_floating(sums_dtype, [&](auto zero) {
    launch(join_sums_kernel<decltype(zero)>, blocks_for(columns), block_threads, device, partial, parts, columns,
           static_cast<decltype(zero)*>(sums));
  });
}

ColumnSums::ColumnSums(const Device& device, std::int64_t rows, std::int64_t columns)
    : device_(device),
      rows_(rows),
      columns_(columns),
      parts_(row_parts(device, rows, columns, tile_rows, tile_columns)) {}

void ColumnSums::run(DType dtype, const void* x, DType sums_dtype, void* sums, void* workspace) const {
  auto* partial = static_cast<float*>(workspace);
  const dim3 grid(blocks_for(columns_, tile_columns), static_cast<unsigned>(parts_));
  const dim3 block(tile_columns, tile_rows);
  visit_floating(dtype, [&](auto zero) {
    launch(partial_sums_kernel<decltype(zero)>, grid, block, device_, static_cast<const decltype(zero)*>(x), rows_,
           columns_, partial);
  });
  join_partial_sums(device_, partial, parts_, columns_, sums_dtype, sums);
}

}  // namespace ptrain::cuda

#include "core/cuda/kernels/linear/activation_gradient_sums.h"
#include "core/cuda/primitives/columns.cuh"

#include "core/cuda/primitives/columns.h"
#include "core/cuda/primitives/vector.cuh"
#include "core/ops/math/activation_math.h"

namespace ptrain::cuda {
namespace {

/// Block (c, p) takes the rows p, p + parts... (eight at a time) of its columns, and writes their sums to partial[p].
template <Activation kind, int n, typename T>
__global__ void __launch_bounds__(tile_columns* tile_rows)
    differentiate_kernel(const T* saved, T* dx, std::int64_t rows, std::int64_t columns, float* partial) {
  const std::int64_t column = tile_column<n>();
  float sums[n] = {};
  if (column < columns) {
    const std::int64_t step = static_cast<std::int64_t>(gridDim.y) * tile_rows;
    for (std::int64_t r = static_cast<std::int64_t>(blockIdx.y) * tile_rows + threadIdx.y; r < rows; r += step) {
      float at[n], gradient[n];
      load(saved + r * columns + column, at);
      load(dx + r * columns + column, gradient);
#pragma unroll
      for (int i = 0; i < n; ++i) {
        gradient[i] = activation_gradient<kind>(gradient[i], at[i]);
        sums[i] += gradient[i];
      }
      store(dx + r * columns + column, gradient);
    }
  }
  write_partial_sums(sums, columns, partial);
}

}  // namespace

ActivationGradientSums::ActivationGradientSums(const Device& device, Activation activation, const TensorDesc& dx,
                                               DType db)
    : device_(device),
      activation_(activation),
      dtype_(dx.dtype),
      db_dtype_(db),
      rows_(dx.count() / dx.shape[-1]),
      columns_(dx.shape[-1]),
      parts_(row_parts(device, rows_, columns_, tile_rows, tile_columns * row_pack(columns_))) {}

void ActivationGradientSums::run(const void* saved, void* dx, void* db, void* workspace) const {
  auto* partial = static_cast<float*>(workspace);
  const dim3 block(tile_columns, tile_rows);
  visit_row_pack(columns_, [&](auto n) {
    const dim3 grid(blocks_for(columns_, tile_columns * decltype(n)::value), static_cast<unsigned>(parts_));
    visit_activation(activation_, [&](auto kind) {
      visit_floating(dtype_, [&](auto zero) {
        using T = decltype(zero);
        launch(differentiate_kernel<decltype(kind)::value, decltype(n)::value, T>, grid, block, device_,
               static_cast<const T*>(saved), static_cast<T*>(dx), rows_, columns_, partial);
      });
    });
  });
  join_partial_sums(device_, partial, parts_, columns_, db_dtype_, db);
}

}  // namespace ptrain::cuda

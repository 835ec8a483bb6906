// Layer normalisation by rows, one warp each, forward and backward, and the sums over rows for gamma's and beta's
// gradients. A row is read two or three times; after the first it is in the first-level cache.
#pragma once

#include "core/cuda/primitives/launch.cuh"
#include "core/cuda/primitives/reduce.cuh"
#include "core/cuda/primitives/vector.cuh"

namespace ptrain::cuda {

inline constexpr int warp = 32;
inline constexpr int block_rows = block_threads / warp;

/// Calls body(c) for the first column of each group of n that this thread has in a row.
template <int n, typename Body>
__device__ inline void for_columns(std::int64_t width, Body&& body) {
  for (std::int64_t c = static_cast<std::int64_t>(threadIdx.x % warp) * n; c < width; c += warp * n) body(c);
}

struct RowStatistics {
  float mean;
  float rstd;
};

/// The mean, then the variance around it.
template <int n, typename T>
__device__ inline RowStatistics row_statistics(const T* x, std::int64_t width, float epsilon) {
  float values[n];
  float sum = 0;
  for_columns<n>(width, [&](std::int64_t c) {
    load(x + c, values);
#pragma unroll
    for (int i = 0; i < n; ++i) sum += values[i];
  });
  const float mean = warp_sum(sum) / static_cast<float>(width);
  float squares = 0;
  for_columns<n>(width, [&](std::int64_t c) {
    load(x + c, values);
#pragma unroll
    for (int i = 0; i < n; ++i) squares += (values[i] - mean) * (values[i] - mean);
  });
  return {mean, 1.0f / sqrtf(warp_sum(squares) / static_cast<float>(width) + epsilon)};
}

/// Writes to `y` and, if not null, to `low`.
template <int n, typename T, typename Y, typename L = bf16>
__device__ inline void normalise_row(const T* x, RowStatistics s, const float* gamma, const float* beta,
                                     std::int64_t width, Y* y, L* low = nullptr) {
  float values[n], scale[n], shift[n];
  for_columns<n>(width, [&](std::int64_t c) {
    load(x + c, values);
    load(gamma + c, scale);
    load(beta + c, shift);
#pragma unroll
    for (int i = 0; i < n; ++i) values[i] = (values[i] - s.mean) * s.rstd * scale[i] + shift[i];
    store(y + c, values);
    if (low != nullptr) store(low + c, values);
  });
}

/// The n elements of dy from `c` on, plus those of `low` if not null.
template <int n, typename D, typename L>
__device__ inline void load_gradients(const D* dy, const L* low, std::int64_t c, float (&values)[n]) {
  load(dy + c, values);
  if (low == nullptr) return;
  float more[n];
  load(low + c, more);
#pragma unroll
  for (int i = 0; i < n; ++i) values[i] += more[i];
}

/// Means over a row of dy gamma and of dy gamma xhat.
struct RowSums {
  float gradient;
  float projected;
};

template <int n, typename D, typename T, typename L = bf16>
__device__ inline RowSums grad_row_sums(const D* dy, const T* x, RowStatistics s, const float* gamma,
                                        std::int64_t width, const L* low = nullptr) {
  float gradient = 0, projected = 0;
  float d[n], values[n], scale[n];
  for_columns<n>(width, [&](std::int64_t c) {
    load_gradients(dy, low, c, d);
    load(x + c, values);
    load(gamma + c, scale);
#pragma unroll
    for (int i = 0; i < n; ++i) {
      const float scaled = d[i] * scale[i];
      gradient += scaled;
      projected += scaled * ((values[i] - s.mean) * s.rstd);
    }
  });
  return {warp_sum(gradient) / static_cast<float>(width), warp_sum(projected) / static_cast<float>(width)};
}

/// Writes dx for the n elements from x on; before, their dy goes into `gradients`.
template <int n, typename T>
__device__ inline void grad_elements(const T* x, const float* gamma, RowStatistics s, RowSums sums,
                                     float (&gradients)[n]) {
  float values[n], scale[n];
  load(x, values);
  load(gamma, scale);
#pragma unroll
  for (int i = 0; i < n; ++i) {
    const float normal = (values[i] - s.mean) * s.rstd;
    gradients[i] = s.rstd * (gradients[i] * scale[i] - sums.gradient - normal * sums.projected);
  }
}

/// The gradient of one row, in a warp: dx from dy and x, of `width` elements each.
template <int n, typename D, typename T>
__device__ void write_row_gradient(const D* dy, const T* x, const float* gamma, RowStatistics s, RowSums sums,
                                   std::int64_t width, T* dx) {
  for_columns<n>(width, [&](std::int64_t c) {
    float gradients[n];
    load(dy + c, gradients);
    grad_elements(x + c, gamma + c, s, sums, gradients);
    store(dx + c, gradients);
  });
}

/// Sums of dy xhat and of dy over one part of the rows: partials[part][0 or 1][column]. Blocks of 32 columns by
/// column_rows rows; each thread adds its rows in order. mean: null where it is 0 everywhere.
inline constexpr int column_rows = 8;

template <typename D, typename T, typename L>
__global__ void __launch_bounds__(warp* column_rows)
    channel_partials_kernel(const D* dy, const T* x, const float* mean, const float* rstd, std::int64_t rows,
                            std::int64_t width, const L* low, float* partials) {
  __shared__ float shared[2][column_rows][warp];
  const std::int64_t c = static_cast<std::int64_t>(blockIdx.x) * warp + threadIdx.x;
  const std::int64_t parts = gridDim.y, part = blockIdx.y;
  float dgamma = 0, dbeta = 0;
  if (c < width) {
    for (std::int64_t r = rows * part / parts + threadIdx.y; r < rows * (part + 1) / parts; r += column_rows) {
      float d = to_float(dy[r * width + c]);
      if (low != nullptr) d += to_float(low[r * width + c]);
      dgamma += d * ((to_float(x[r * width + c]) - (mean == nullptr ? 0.0f : mean[r])) * rstd[r]);
      dbeta += d;
    }
  }
  shared[0][threadIdx.y][threadIdx.x] = dgamma;
  shared[1][threadIdx.y][threadIdx.x] = dbeta;
  __syncthreads();
  if (threadIdx.y >= 2 || c >= width) return;
  float total = 0;
  for (int i = 0; i < column_rows; ++i) total += shared[threadIdx.y][i][threadIdx.x];
  partials[(2 * part + threadIdx.y) * width + c] = total;
}

/// Adds the parts, each of the block's rows of threads every column_rows-th, then the rows in order. dbeta: null for a
/// norm without an offset.
__global__ inline void __launch_bounds__(warp* column_rows)
    add_parts_kernel(const float* partials, std::int64_t parts, std::int64_t width, float* dgamma, float* dbeta) {
  __shared__ float shared[2][column_rows][warp];
  const std::int64_t c = static_cast<std::int64_t>(blockIdx.x) * warp + threadIdx.x;
  float sums[2] = {};
  if (c < width) {
#pragma unroll 4
    for (std::int64_t part = threadIdx.y; part < parts; part += column_rows) {
      sums[0] += partials[2 * part * width + c];
      sums[1] += partials[(2 * part + 1) * width + c];
    }
  }
  for (int i = 0; i < 2; ++i) shared[i][threadIdx.y][threadIdx.x] = sums[i];
  __syncthreads();
  if (threadIdx.y >= 2 || c >= width) return;
  float total = 0;
  for (int i = 0; i < column_rows; ++i) total += shared[threadIdx.y][i][threadIdx.x];
  float* result = threadIdx.y == 0 ? dgamma : dbeta;
  if (result != nullptr) result[c] = total;
}

inline void add_parts(const Device& device, const float* partials, std::int64_t parts, std::int64_t width,
                      float* dgamma, float* dbeta) {
  launch(add_parts_kernel, blocks_for(width, warp), dim3(warp, column_rows), device, partials, parts, width, dgamma,
         dbeta);
}

/// Gradients of gamma and beta; the division of the rows depends only on their number. Without means and offsets (RMS
/// norm) both pointers are null.
class ChannelGradients {
 public:
  ChannelGradients(std::int64_t rows, std::int64_t width)
      : rows_(rows), width_(width), parts_(std::clamp<std::int64_t>(rows / (4 * column_rows), 1, 64)) {}

  std::size_t workspace_bytes() const { return static_cast<std::size_t>(2 * parts_ * width_) * sizeof(float); }

  template <typename D, typename T, typename L = bf16>
  void run(const Device& device, const D* dy, const T* x, const float* mean, const float* rstd, void* workspace,
           float* dgamma, float* dbeta, const L* low = nullptr) const {
    auto* partials = static_cast<float*>(workspace);
    const dim3 grid(blocks_for(width_, warp), static_cast<unsigned>(parts_));
    launch(channel_partials_kernel<D, T, L>, grid, dim3(warp, column_rows), device, dy, x, mean, rstd, rows_, width_,
           low, partials);
    add_parts(device, partials, parts_, width_, dgamma, dbeta);
  }

 private:
  std::int64_t rows_;
  std::int64_t width_;
  std::int64_t parts_;
};

/// This warp's row, in a kernel with one warp per row.
__device__ inline std::int64_t warp_row() { return grid_thread() / warp; }

}  // namespace ptrain::cuda

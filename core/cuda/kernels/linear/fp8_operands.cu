#include "core/cuda/kernels/linear/fp8_operands.h"

#include "core/cuda/device/check.h"
#include "core/cuda/primitives/launch.cuh"
#include "core/cuda/primitives/vector.cuh"
#include "core/exec/kernel.h"

#include <cuda_fp8.h>

namespace ptrain::cuda {
namespace {

constexpr int run = 16;   // adjacent values that a thread takes at once
constexpr int tile = 64;  // edge of a tile that a block transposes
constexpr int runs_of_tile = tile / run;
constexpr std::int64_t most_rows = std::int64_t{65535} * tile;  // a grid's height
static_assert(tile * runs_of_tile == block_threads);

__device__ inline unsigned larger(unsigned a, unsigned b) { return a > b ? a : b; }

/// The largest |x|, as the bits of a float: they order as unsigned integers do, infinity and NaN above all others.
template <typename T>
__global__ void __launch_bounds__(block_threads) largest_kernel(const T* x, std::int64_t count, unsigned* largest) {
  unsigned found = 0;
  for (std::int64_t p = grid_thread(); p < count / pack; p += grid_threads()) {
    float values[pack];
    load(x + p * pack, values);
#pragma unroll
    for (int i = 0; i < pack; ++i) found = larger(found, __float_as_uint(fabsf(values[i])));
  }
#pragma unroll
  for (int distance = 16; distance > 0; distance /= 2) {
    found = larger(found, __shfl_xor_sync(0xffffffffu, found, distance));
  }
  if (threadIdx.x % 32 == 0) atomicMax(largest, found);
}

/// The factor that takes `largest` to the format's limit. Infinity gives 0, of which it makes NaN; NaN gives NaN. A
/// matrix of zeros, or of values that near to it, gets a finite factor.
template <Fp8 format>
__device__ inline float scale_for(float largest) {
  constexpr float limit = format == Fp8::e4m3 ? 448.0f : 57344.0f, most = 0x1p100f;
  const float scale = limit / largest;
  return scale > most ? most : scale;
}

template <Fp8 format>
__device__ inline unsigned round_two(float first, float second) {
  constexpr __nv_fp8_interpretation_t as = format == Fp8::e4m3 ? __NV_E4M3 : __NV_E5M2;
  return __nv_cvt_float2_to_fp8x2(float2{first, second}, __NV_SATFINITE, as);
}

template <Fp8 format, typename T>
__device__ inline uint4 round_run(const T* x, float scale) {
  unsigned words[4];
#pragma unroll
  for (int half = 0; half < run / pack; ++half) {
    float v[pack];
    load(x + half * pack, v);
#pragma unroll
    for (int i = 0; i < pack; i += 4) {
      words[half * 2 + i / 4] = round_two<format>(v[i] * scale, v[i + 1] * scale) |
                                round_two<format>(v[i + 2] * scale, v[i + 3] * scale) << 16;
    }
  }
  return uint4{words[0], words[1], words[2], words[3]};
}

/// y = round(x scale); inverse[0] = 1 / scale.
template <Fp8 format, typename T>
__global__ void __launch_bounds__(block_threads)
    round_kernel(const T* x, std::int64_t count, const float* largest, std::uint8_t* y, float* inverse) {
  const float scale = scale_for<format>(*largest);
  if (grid_thread() == 0) *inverse = 1 / scale;
  for (std::int64_t r = grid_thread(); r < count / run; r += grid_threads()) {
    *reinterpret_cast<uint4*>(y + r * run) = round_run<format>(x + r * run, scale);
  }
}

/// The same with y [columns,rows]. Block (c, r) takes a tile of x; rows and columns are multiples of a run.
template <Fp8 format, typename T>
__global__ void __launch_bounds__(block_threads)
    transpose_kernel(const T* x, std::int64_t rows, std::int64_t columns, const float* largest, std::uint8_t* y,
                     float* inverse) {
  alignas(16) __shared__ std::uint8_t values[tile][tile + run];
  const float scale = scale_for<format>(*largest);
  if (grid_thread() == 0 && blockIdx.y == 0) *inverse = 1 / scale;
  const int line = static_cast<int>(threadIdx.x) / runs_of_tile,
            at = static_cast<int>(threadIdx.x) % runs_of_tile * run;
  const std::int64_t first_row = static_cast<std::int64_t>(blockIdx.y) * tile;
  const std::int64_t first_column = static_cast<std::int64_t>(blockIdx.x) * tile;
  if (first_row + line < rows && first_column + at < columns) {
    *reinterpret_cast<uint4*>(&values[line][at]) =
        round_run<format>(x + (first_row + line) * columns + first_column + at, scale);
  }
  __syncthreads();
  if (first_column + line >= columns || first_row + at >= rows) return;
  unsigned words[4];
#pragma unroll
  for (int w = 0; w < 4; ++w) {
    words[w] = 0;
#pragma unroll
    for (int i = 0; i < 4; ++i) words[w] |= static_cast<unsigned>(values[at + 4 * w + i][line]) << (8 * i);
  }
  *reinterpret_cast<uint4*>(y + (first_column + line) * rows + first_row + at) =
      uint4{words[0], words[1], words[2], words[3]};
}

/// Calls visit(integral_constant) with the format.
template <typename Visitor>
void visit_format(Fp8 format, Visitor&& visit) {
  format == Fp8::e4m3 ? visit(std::integral_constant<Fp8, Fp8::e4m3>{})
                      : visit(std::integral_constant<Fp8, Fp8::e5m2>{});
}

}  // namespace

bool Fp8Operands::fits(const MatrixProduct& product) {
  const auto is_allowed = [](std::int64_t size) { return size % fp8_size_multiple == 0 && size <= most_rows; };
  return is_allowed(product.rows) && is_allowed(product.columns) && is_allowed(product.inner) && product.batch == 1;
}

Fp8Operands::Fp8Operands(const Device& device, const MatrixProduct& product, DType left, DType right,
                         Fp8Formats formats, WorkspaceLayout& layout)
    : device_(device), product_(product) {
  const auto make = [&](DType dtype, Fp8 format, std::int64_t outer, bool transpose) {
    Matrix matrix{dtype, format, transpose ? product.inner : outer, transpose ? outer : product.inner, transpose};
    matrix.values = layout.take(static_cast<std::size_t>(outer * product.inner));
    matrix.largest = layout.take(sizeof(float));
    matrix.scale = layout.take(sizeof(float));
    return matrix;
  };
  left_ = make(left, formats.left, product.rows, product.left_transposed);
  right_ = make(right, formats.right, product.columns, !product.right_transposed);
}

MatrixProduct Fp8Operands::rounded_product() const {
  MatrixProduct product = product_;
  product.left_transposed = false;
  product.right_transposed = true;
  product.left_fp8 = left_.format;
  product.right_fp8 = right_.format;
  return product;
}

void Fp8Operands::round(const Matrix& matrix, const void* from, void* workspace) const {
  const std::int64_t count = matrix.rows * matrix.columns;
  auto* const largest = matrix.largest.as<unsigned>(workspace);
  const auto* const as_float = matrix.largest.as<float>(workspace);
  auto* const to = matrix.values.as<std::uint8_t>(workspace);
  auto* const inverse = matrix.scale.as<float>(workspace);
  CUDA_CHECK(cudaMemsetAsync(largest, 0, sizeof *largest, device_.stream()));
  visit_floating(matrix.dtype, [&](auto zero) {
    using T = decltype(zero);
    const auto* const x = static_cast<const T*>(from);
    launch(largest_kernel<T>, grid_blocks(device_, count / pack), block_threads, device_, x, count, largest);
    visit_format(matrix.format, [&](auto format) {
      constexpr Fp8 as = decltype(format)::value;
      if (matrix.transpose) {
        const dim3 grid(blocks_for(matrix.columns, tile), blocks_for(matrix.rows, tile));
        launch(transpose_kernel<as, T>, grid, block_threads, device_, x, matrix.rows, matrix.columns, as_float, to,
               inverse);
      } else {
        launch(round_kernel<as, T>, grid_blocks(device_, count / run), block_threads, device_, x, count, as_float, to,
               inverse);
      }
    });
  });
}

void Fp8Operands::round(Gemm::Operands& operands, void* workspace) const {
  round(left_, operands.left, workspace);
  round(right_, operands.right, workspace);
  operands.left = left_.values.in(workspace);
  operands.right = right_.values.in(workspace);
  operands.left_scale = left_.scale.as<const float>(workspace);
  operands.right_scale = right_.scale.as<const float>(workspace);
}

}  // namespace ptrain::cuda

#include "core/cpu/kernels/linear/activation_gradient_sums.h"

#include "core/cpu/simd/convert.h"
#include "core/ops/math/activation_math.h"

namespace ptrain::cpu {
namespace {

constexpr std::int64_t block_rows = 32;  // summed by one thread, into a row of the workspace

std::int64_t count_blocks(std::int64_t rows) { return (rows + block_rows - 1) / block_rows; }

/// One row: adds to each column of `sums`.
template <Activation kind, typename T>
void add_row(const T* saved, T* dx, std::int64_t columns, float* sums) {
  float at[run_length], gradient[run_length];
  for (std::int64_t first = 0; first < columns; first += run_length) {
    const std::int64_t count = std::min(run_length, columns - first);
    convert_run(saved + first, at, count);
    convert_run(dx + first, gradient, count);
    float* sum = sums + first;
#pragma omp simd
    for (std::int64_t i = 0; i < count; ++i) {
      gradient[i] = activation_gradient<kind>(gradient[i], at[i]);
      sum[i] += gradient[i];
    }
    convert_run(gradient, dx + first, count);
  }
}

/// partial[b][c] = the sums over block b's rows.
template <Activation kind, typename T>
void sum_blocks(const T* saved, T* dx, std::int64_t rows, std::int64_t columns, float* partial) {
  parallel_for(count_blocks(rows), 1, [&](std::int64_t begin, std::int64_t end) {
    for (std::int64_t b = begin; b < end; ++b) {
      float* sums = partial + b * columns;
      std::fill(sums, sums + columns, 0.0f);
      for (std::int64_t r = b * block_rows; r < std::min(rows, (b + 1) * block_rows); ++r) {
        add_row<kind>(saved + r * columns, dx + r * columns, columns, sums);
      }
    }
  });
}

/// Adds the other blocks' sums to the first block's, then rounds.
template <typename B>
void join_blocks(float* partial, std::int64_t blocks, std::int64_t columns, B* db) {
  constexpr std::int64_t fewest_columns = 1 << 8;
  parallel_for(columns, fewest_columns, [&](std::int64_t begin, std::int64_t end) {
    for (std::int64_t b = 1; b < blocks; ++b) {
      const float* part = partial + b * columns;
      for (std::int64_t c = begin; c < end; ++c) partial[c] += part[c];
    }
    convert_run(partial + begin, db + begin, end - begin);
  });
}

}  // namespace

ActivationGradientSums::ActivationGradientSums(Activation activation, const TensorDesc& dx, DType db)
    : activation_(activation),
      dtype_(dx.dtype),
      db_dtype_(db),
      rows_(dx.count() / dx.shape[-1]),
      columns_(dx.shape[-1]) {}

std::size_t ActivationGradientSums::workspace_bytes() const {
  return static_cast<std::size_t>(count_blocks(rows_) * columns_) * sizeof(float);
}

void ActivationGradientSums::run(const void* saved, void* dx, void* db, void* workspace) const {
  auto* partial = static_cast<float*>(workspace);
  visit_activation(activation_, [&](auto kind) {
    visit_floating(dtype_, [&](auto zero) {
      using T = decltype(zero);
      sum_blocks<decltype(kind)::value>(static_cast<const T*>(saved), static_cast<T*>(dx), rows_, columns_, partial);
    });
  });
  visit_floating(db_dtype_, [&](auto zero) {
    join_blocks(partial, count_blocks(rows_), columns_, static_cast<decltype(zero)*>(db));
  });
}

}  // namespace ptrain::cpu

// Sums over, and additions to, the columns of row-major matrices.
#pragma once

#include "core/base/dtype.h"
#include "core/cuda/device/device.h"

#include <cstddef>
#include <cstdint>

namespace ptrain::cuda {

/// Enqueues y[r][c] += bias[c], in f32, rounded once more.
void add_to_columns(const Device& device, DType bias_dtype, const void* bias, DType dtype, void* y, std::int64_t rows,
                    std::int64_t columns);

/// Number of parts into which blocks of `block_columns` columns divide the rows, `block_rows` at a time: `resident`
/// blocks for each multiprocessor, each with enough rows to be worthwhile.
std::int64_t row_parts(const Device& device, std::int64_t rows, std::int64_t columns, std::int64_t block_rows,
                       std::int64_t block_columns, std::int64_t resident = 8);

/// Enqueues sums[c] = the sum over p of partial[p][c], in a fixed order.
void join_partial_sums(const Device& device, const float* partial, std::int64_t parts, std::int64_t columns,
                       DType sums_dtype, void* sums);

/// sums[c] = the sum over the rows of x[r][c]: in f32, in a fixed order.
class ColumnSums {
 public:
  ColumnSums(const Device& device, std::int64_t rows, std::int64_t columns);

  std::size_t workspace_bytes() const { return static_cast<std::size_t>(parts_ * columns_) * sizeof(float); }
  void run(DType dtype, const void* x, DType sums_dtype, void* sums, void* workspace) const;

 private:
  const Device& device_;
  std::int64_t rows_;
  std::int64_t columns_;
  std::int64_t parts_;  // each part of the rows is summed by blocks of its own
};

}  // namespace ptrain::cuda

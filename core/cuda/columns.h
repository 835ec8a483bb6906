// Sums over, and additions to, the columns of row-major matrices.
#pragma once

#include "core/base/dtype.h"
#include "core/cuda/device.h"

#include <cstddef>
#include <cstdint>

namespace ptrain::cuda {

/// Enqueues y[r][c] += bias[c], in f32, rounded once more.
void add_to_columns(const Device& device, DType bias_dtype, const void* bias, DType dtype, void* y, std::int64_t rows,
                    std::int64_t columns);

/// sums[c] = the sum over the rows of x[r][c]: in f32, in an order that is always the same.
class ColumnSums {
 public:
  ColumnSums(const Device& device, std::int64_t rows, std::int64_t columns);

  std::size_t workspace_bytes() const { return static_cast<std::size_t>(parts_ * columns_) * sizeof(float); }
  void run(DType dtype, const void* x, DType sums_dtype, void* sums, void* workspace) const;

 private:
  const Device& device_;
  std::int64_t rows_;
  std::int64_t columns_;
  std::int64_t parts_;  // of the rows, summed by blocks of their own
};

}  // namespace ptrain::cuda

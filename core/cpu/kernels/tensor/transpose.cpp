// If the last axis stays, copies runs of it. Otherwise reads squares by rows of x and writes them by rows of y, so that
// both stay in the cache.
#include "core/ops/tensor/transpose.h"

#include "core/cpu/cpu_kernels.h"
#include "core/cpu/kernels/tensor/strided_runs.h"

namespace ptrain::cpu {
namespace {

constexpr std::int64_t square = 32;

class TransposeKernel final : public Kernel {
 public:
  explicit TransposeKernel(const KernelContext& context)
      : output_(context.outputs[0]),
        index_(transposed_index(context.inputs[0].shape, context.op_as<Transpose>().order())) {
    if (keeps_last()) return;
    std::int64_t stride = 1;  // in y
    for (int axis = index_.axes - 1; axis >= 0; --axis) {
      if (index_.strides[axis] == 1) {
        rows_ = index_.extents[axis];
        row_stride_ = stride;
      }
      stride *= index_.extents[axis];
    }
    stride = output_.count();
    for (int axis = 0; axis < index_.axes - 1; ++axis) {
      stride /= index_.extents[axis];
      if (index_.strides[axis] == 1) continue;
      outer_x_.add(index_.extents[axis], index_.strides[axis]);
      outer_y_.add(index_.extents[axis], stride);
    }
  }

  void run(const KernelArgs& args) override {
    visit_size(output_.dtype, [&](auto zero) {
      using T = decltype(zero);
      const auto* x = static_cast<const T*>(args.inputs[0]);
      auto* y = static_cast<T*>(args.outputs[0]);
      if (keeps_last()) {
        parallel_for(output_.count(), 1 << 14,
                     [&](std::int64_t begin, std::int64_t end) { load_run(index_, x, begin, end - begin, y + begin); });
      } else {
        run_squares(x, y);
      }
    });
  }

 private:
  bool keeps_last() const { return index_.axes == 0 || index_.strides[index_.axes - 1] == 1; }

  /// Rows of a matrix are strided in y and contiguous in x, columns the other way round.
  template <typename T>
  void run_squares(const T* x, T* y) const {
    const std::int64_t columns = index_.extents[index_.axes - 1], column_stride = index_.strides[index_.axes - 1];
    const std::int64_t down = (rows_ + square - 1) / square, across = (columns + square - 1) / square;
    const std::int64_t matrices = output_.count() / (rows_ * columns);
    const std::int64_t elements = std::min(rows_, square) * std::min(columns, square);
    parallel_for(matrices * down * across, (1 << 14) / elements, [&](std::int64_t begin, std::int64_t end) {
      for (std::int64_t task = begin; task < end; ++task) {
        const std::int64_t matrix = task / (down * across);
        const std::int64_t first_row = task / across % down * square, first_column = task % across * square;
        const std::int64_t row_end = std::min(rows_, first_row + square);
        const std::int64_t column_end = std::min(columns, first_column + square);
        const T* from = x + outer_x_.offset(matrix);
        T* to = y + outer_y_.offset(matrix);
        for (std::int64_t row = first_row; row < row_end; ++row) {
          for (std::int64_t column = first_column; column < column_end; ++column) {
            to[row * row_stride_ + column] = from[row + column * column_stride];
          }
        }
      }
    });
  }

  TensorDesc output_;
  StridedIndex index_;
  StridedIndex outer_x_, outer_y_;  // of the matrices
  std::int64_t rows_ = 1, row_stride_ = 0;
};

}  // namespace

std::unique_ptr<Kernel> make_transpose(const KernelContext& context) {
  return std::make_unique<TransposeKernel>(context);
}

}  // namespace ptrain::cpu

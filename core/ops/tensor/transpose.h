// Permutes the axes of a tensor.
#pragma once

#include "core/graph/op.h"
#include "core/ops/math/strided_index.h"

namespace ptrain {

/// inputs: x [...], of any dtype.  outputs: y, whose axis i is axis order[i] of x (NumPy's transpose).
class Transpose final : public Op {
 public:
  explicit Transpose(std::vector<int> order) : order_(std::move(order)) {}
  const std::vector<int>& order() const { return order_; }

  std::string_view type() const override { return "transpose"; }
  std::string attributes() const override;
  std::vector<TensorDesc> infer(std::span<const TensorDesc> inputs) const override;
  void gradient(GradientBuilder& builder) const override;

 private:
  std::vector<int> order_;
};

/// Offsets in a tensor of `shape` in the order of its transpose.
StridedIndex transposed_index(const Shape& shape, std::span<const int> order);

}  // namespace ptrain

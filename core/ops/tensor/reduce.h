// Sums, means and maxima over axes.
#pragma once

#include "core/graph/op.h"

namespace ptrain {

enum class ReduceKind { sum, mean, max };
/// Whether reduced axes are kept, as 1.
enum class KeepDims { no, yes };

struct ReduceAttributes {
  ReduceKind kind = ReduceKind::sum;
  std::vector<int> axes = {};  // negative ones count from the last; none: all axes
  KeepDims keep_dims = KeepDims::no;
  AmpClass sums = AmpClass::black;  // of sums and means; extra_black for losses, which are fp32 at every level
};

/// For each axis of a tensor of `rank`, whether it is reduced. Throws std::invalid_argument naming an axis that does
/// not exist.
std::vector<bool> reduced_axes(const ReduceAttributes& attributes, int rank);

/// inputs: x [...], floating.  outputs: y in x's dtype, without the axes or with 1 in their place. The maximum of
/// values with a NaN is NaN, and its gradient is shared among the elements that equal it (PyTorch's amax).
class Reduce final : public OpWith<ReduceAttributes> {
 public:
  using OpWith::OpWith;
  std::string_view type() const override;
  std::string_view kernel() const override { return "reduce"; }
  std::string attributes() const override;
  std::vector<TensorDesc> infer(std::span<const TensorDesc> inputs) const override;
  void gradient(GradientBuilder& builder) const override;
  AmpClass amp_class() const override;
  Cost cost(std::span<const TensorDesc> inputs, std::span<const TensorDesc> outputs) const override;

 private:
  /// `shape` with 1 in place of the axes.
  Shape kept_shape(const Shape& shape) const;
};

}  // namespace ptrain

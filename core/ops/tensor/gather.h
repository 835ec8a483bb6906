// Gathers rows by index, and its gradient, which adds rows where they were taken from.
#pragma once

#include "core/graph/op.h"

namespace ptrain {

struct GatherAttributes {
  int axis = 0;                   // axis that is indexed; a negative one counts from the last
  int batch_axes = 0;             // leading axes that x and the indices share
  AmpClass amp = AmpClass::grey;  // extra_black for positions, which low precision would move
};

/// inputs: x [B.., O.., n, I..], of any dtype, where n is the axis; indices i32 [B.., K..], where B.. are the batch
/// axes. outputs: y [B.., O.., K.., I..]: the rows at those indices (NumPy's take; with all axes before the last as
/// batch axes, PyTorch's gather). A row whose index is negative, or not below n, is zero.
class Gather final : public OpWith<GatherAttributes> {
 public:
  enum Input { x, indices };
  using OpWith::OpWith;
  std::string_view type() const override { return "gather"; }
  std::string attributes() const override;
  std::vector<TensorDesc> infer(std::span<const TensorDesc> inputs) const override;
  void gradient(GradientBuilder& builder) const override;
  AmpClass amp_class() const override { return attrs().amp; }
};

/// inputs: rows [B.., O.., K.., I..], floating; indices i32 [B.., K..].
/// outputs: y [B.., O.., n, I..]: sums of rows, in their order and in f32, and zero elsewhere. Rows whose index is
/// negative, or not below n, are dropped.
class ScatterAdd final : public OpWith<GatherAttributes> {
 public:
  enum Input { rows, indices };
  ScatterAdd(GatherAttributes attributes, std::int64_t extent) : OpWith(attributes), extent_(extent) {}
  std::int64_t extent() const { return extent_; }  // n

  std::string_view type() const override { return "scatter_add"; }
  std::string attributes() const override;
  std::vector<TensorDesc> infer(std::span<const TensorDesc> inputs) const override;
  void gradient(GradientBuilder& builder) const override;
  Cost cost(std::span<const TensorDesc> inputs, std::span<const TensorDesc> outputs) const override;

 private:
  std::int64_t extent_;
};

/// Element counts of B.., O.., n, I.. and K...
struct GatherExtent {
  std::int64_t batches, outer, extent, inner, picked;
};
/// The extent for x (or the result of a scatter_add) and the indices.
GatherExtent gather_extent(const GatherAttributes& attributes, const Shape& x, const Shape& indices);

}  // namespace ptrain

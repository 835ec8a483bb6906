// Concatenation of tensors along an axis, and its gradient.
#pragma once

#include "core/graph/op.h"

#include <optional>

namespace ptrain {

/// The shape of the concatenation along `axis` (a negative one counts from the last), or without an axis of the
/// flattened rows [B, W]. Throws std::invalid_argument when the shapes do not fit.
Shape concatenated_shape(std::span<const Shape> shapes, std::optional<int> axis);

/// inputs: one or more tensors of one dtype.
/// outputs: y, the inputs along the axis (torch.cat); without an axis y [B, W], where W is the size of a row of all
/// inputs [B, ...] (torch.cat of torch.flatten(x, 1)).
class Concat final : public Op {
 public:
  Concat() = default;
  /// `amp` is extra_black for positions, which low precision would move.
  explicit Concat(int axis, AmpClass amp = AmpClass::grey) : axis_(axis), amp_(amp) {}
  std::optional<int> axis() const { return axis_; }

  std::string_view type() const override { return "concat"; }
  std::string attributes() const override;
  std::vector<TensorDesc> infer(std::span<const TensorDesc> inputs) const override;
  void gradient(GradientBuilder& builder) const override;
  AmpClass amp_class() const override { return amp_; }

 private:
  std::optional<int> axis_;
  AmpClass amp_ = AmpClass::grey;
};

/// inputs: dy.  outputs: one tensor for each of the shapes, in dy's dtype: its slice of dy along the axis, or of dy's
/// rows.
class ConcatGrad final : public Op {
 public:
  explicit ConcatGrad(std::vector<Shape> shapes, std::optional<int> axis = {})
      : shapes_(std::move(shapes)), axis_(axis) {}
  std::optional<int> axis() const { return axis_; }

  std::string_view type() const override { return "concat_grad"; }
  std::string attributes() const override;
  std::vector<TensorDesc> infer(std::span<const TensorDesc> inputs) const override;

 private:
  std::vector<Shape> shapes_;
  std::optional<int> axis_;
};

/// Number of contiguous rows in a tensor of `shape`: the product of the axes before `axis`, or the first axis.
std::int64_t concatenated_rows(const Shape& shape, std::optional<int> axis);

}  // namespace ptrain

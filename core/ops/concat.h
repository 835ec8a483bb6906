// Several tensors side by side along an axis, and the gradient's parts apart again.
#pragma once

#include "core/graph/op.h"

#include <optional>

namespace ptrain {

/// The shape of tensors of `shapes` side by side along `axis`, a negative one counting from the last; without one, of
/// their flattened rows [B, W]. Throws std::invalid_argument when they do not fit.
Shape concatenated_shape(std::span<const Shape> shapes, std::optional<int> axis);

/// inputs: one or more tensors of one dtype.
/// outputs: y, the inputs along the axis (torch.cat); without an axis y [B, W], where W is what a row of all inputs
/// [B, ...] has (torch.cat of torch.flatten(x, 1)).
class Concat final : public Op {
 public:
  Concat() = default;
  explicit Concat(int axis) : axis_(axis) {}
  std::optional<int> axis() const { return axis_; }

  std::string_view type() const override { return "concat"; }
  std::string attributes() const override;
  std::vector<TensorDesc> infer(std::span<const TensorDesc> inputs) const override;
  void gradient(GradientBuilder& builder) const override;

 private:
  std::optional<int> axis_;
};

/// inputs: dy.  outputs: one tensor for each of the shapes, of the dtype of dy, that dy has along the axis, or in its
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

/// How many rows a tensor of `shape` has whose parts are kept together: of all axes before `axis`, or of the first.
std::int64_t concatenated_rows(const Shape& shape, std::optional<int> axis);

}  // namespace ptrain

// Rows of several tensors side by side, and the gradient's parts apart again.
#pragma once

#include "core/graph/op.h"

namespace ptrain {

/// inputs: one or more tensors [B, ...] of one dtype.  outputs: y [B, W], where W is what a row of all inputs has
/// (PyTorch's torch.cat of torch.flatten(x, 1)).
class Concat final : public Op {
 public:
  std::string_view type() const override { return "concat"; }
  std::vector<TensorDesc> infer(std::span<const TensorDesc> inputs) const override;
  void gradient(GradientBuilder& builder) const override;
};

/// inputs: dy [B, W].  outputs: one tensor for each of the shapes [B, ...], of the dtype of dy.
class ConcatGrad final : public Op {
 public:
  explicit ConcatGrad(std::vector<Shape> shapes) : shapes_(std::move(shapes)) {}

  std::string_view type() const override { return "concat_grad"; }
  std::string attributes() const override;
  std::vector<TensorDesc> infer(std::span<const TensorDesc> inputs) const override;

 private:
  std::vector<Shape> shapes_;
};

}  // namespace ptrain

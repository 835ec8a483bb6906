// Reshape, and broadcast of a tensor to a larger shape.
#pragma once

#include "core/graph/op.h"

namespace ptrain {

/// inputs: x [...], of any dtype.  outputs: its elements in the same order as `shape`, of equally many elements.
class Reshape final : public Op {
 public:
  explicit Reshape(Shape shape) : shape_(std::move(shape)) {}

  std::string_view type() const override { return "reshape"; }
  std::string attributes() const override { return "shape=" + shape_.to_string(); }
  std::vector<TensorDesc> infer(std::span<const TensorDesc> inputs) const override;
  void gradient(GradientBuilder& builder) const override;
  /// In place, nothing is copied.
  int inplace_input(int) const override { return 0; }

 private:
  Shape shape_;
};

/// inputs: x [...], of any dtype.  outputs: x broadcast to `shape` (NumPy's broadcast_to).
class Expand final : public Op {
 public:
  explicit Expand(Shape shape) : shape_(std::move(shape)) {}

  std::string_view type() const override { return "expand"; }
  std::string attributes() const override { return "shape=" + shape_.to_string(); }
  std::vector<TensorDesc> infer(std::span<const TensorDesc> inputs) const override;
  void gradient(GradientBuilder& builder) const override;

 private:
  Shape shape_;
};

}  // namespace ptrain

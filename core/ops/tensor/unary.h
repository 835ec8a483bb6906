// A function of each element, and its gradient. The functions and their arithmetic are in ops/math/unary_math.h.
#pragma once

#include "core/ops/math/unary_math.h"

namespace ptrain {

struct UnaryAttributes {
  UnaryFunction function;
  PointwiseConstants constants = {};
};

/// inputs: x [...], floating.  outputs: y [...] in x's dtype.
class Unary final : public OpWith<UnaryAttributes> {
 public:
  using OpWith::OpWith;
  std::string_view type() const override { return get_traits(attrs().function).type; }
  std::string_view kernel() const override { return "unary"; }
  std::string attributes() const override;
  std::vector<TensorDesc> infer(std::span<const TensorDesc> inputs) const override;
  void gradient(GradientBuilder& builder) const override;
  AmpClass amp_class() const override { return get_traits(attrs().function).amp_class; }
  int inplace_input(int) const override { return 0; }
  Cost cost(std::span<const TensorDesc> inputs, std::span<const TensorDesc> outputs) const override;
};

/// inputs: dy [...]; saved [...], the function's input or output as its traits say, or absent. outputs: dx [...].
class UnaryGrad final : public OpWith<UnaryAttributes> {
 public:
  enum Input { dy, saved };
  using OpWith::OpWith;
  std::string_view type() const override { return get_traits(attrs().function).grad_type; }
  std::string_view kernel() const override { return "unary_grad"; }
  std::string attributes() const override;
  std::vector<TensorDesc> infer(std::span<const TensorDesc> inputs) const override;
  int inplace_input(int) const override { return dy; }
  Cost cost(std::span<const TensorDesc> inputs, std::span<const TensorDesc> outputs) const override;
};

}  // namespace ptrain

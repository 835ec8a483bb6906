// A function of two tensors' elements, one broadcast to the other, and its gradient. The functions and their arithmetic
// are in ops/math/binary_math.h.
#pragma once

#include "core/ops/math/binary_math.h"

namespace ptrain {

/// The operand that a gradient belongs to.
enum class Operand { a, b };

/// inputs: a [...], b [...], of one floating dtype, broadcast to each other.  outputs: y [...] in that dtype.
class Binary final : public Op {
 public:
  enum Input { a, b };
  explicit Binary(BinaryFunction function) : function_(function) {}
  BinaryFunction function() const { return function_; }

  std::string_view type() const override { return get_traits(function_).type; }
  std::string_view kernel() const override { return "binary"; }
  std::vector<TensorDesc> infer(std::span<const TensorDesc> inputs) const override;
  void gradient(GradientBuilder& builder) const override;
  AmpClass amp_class() const override { return get_traits(function_).amp_class; }
  int inplace_input(int) const override { return a; }
  Cost cost(std::span<const TensorDesc> inputs, std::span<const TensorDesc> outputs) const override;

 private:
  BinaryFunction function_;
};

/// inputs: dy [...]; a, b, each absent where the gradient does not read it (BinarySaved).
/// outputs: the operand's gradient [...] before it is summed over the axes along which the operand is repeated.
class BinaryGrad final : public Op {
 public:
  enum Input { dy, a, b };
  BinaryGrad(BinaryFunction function, Operand operand) : function_(function), operand_(operand) {}
  BinaryFunction function() const { return function_; }
  Operand operand() const { return operand_; }

  std::string_view type() const override { return get_traits(function_).grad_type; }
  std::string_view kernel() const override { return "binary_grad"; }
  std::string attributes() const override { return operand_ == Operand::a ? "operand=a" : "operand=b"; }
  std::vector<TensorDesc> infer(std::span<const TensorDesc> inputs) const override;
  int inplace_input(int) const override { return dy; }
  Cost cost(std::span<const TensorDesc> inputs, std::span<const TensorDesc> outputs) const override;

 private:
  BinaryFunction function_;
  Operand operand_;
};

}  // namespace ptrain

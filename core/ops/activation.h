// Elementwise activations gelu, tanh and relu, and their gradients.
#pragma once

#include "core/graph/op.h"

namespace ptrain {

/// `none` is for ops that fuse an activation; ActivationOp does not take it.
enum class Activation { none, gelu_erf, gelu_tanh, tanh, relu };

/// "none", "gelu_erf", "gelu_tanh", "tanh", "relu".
std::string_view name_of(Activation activation);

/// inputs: x [...].  outputs: y [...] in x's dtype. type() is "gelu", "tanh" or "relu".
class ActivationOp final : public Op {
 public:
  explicit ActivationOp(Activation activation);
  Activation activation() const { return activation_; }

  std::string_view type() const override;
  std::string attributes() const override;
  std::vector<TensorDesc> infer(std::span<const TensorDesc> inputs) const override;
  void gradient(GradientBuilder& builder) const override;
  int inplace_input(int) const override { return 0; }
  Cost cost(std::span<const TensorDesc> inputs, std::span<const TensorDesc> outputs) const override;

 private:
  Activation activation_;
};

/// inputs: saved [...]; dy [...].  outputs: dx [...] in dy's dtype. `saved` is the activation's input x for gelu and
/// its output y for tanh and relu (saves_input() says which). type() is "gelu_grad", "tanh_grad" or "relu_grad".
class ActivationGrad final : public Op {
 public:
  explicit ActivationGrad(Activation activation);
  Activation activation() const { return activation_; }
  static bool saves_input(Activation activation);

  std::string_view type() const override;
  std::string attributes() const override;
  std::vector<TensorDesc> infer(std::span<const TensorDesc> inputs) const override;
  int inplace_input(int) const override { return 1; }
  Cost cost(std::span<const TensorDesc> inputs, std::span<const TensorDesc> outputs) const override;

 private:
  Activation activation_;
};

}  // namespace ptrain

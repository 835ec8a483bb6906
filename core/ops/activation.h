// Elementwise activations and their gradients. Their arithmetic is in ops/math/activation_math.h.
#pragma once

#include "core/base/host_device.h"
#include "core/graph/op.h"

#include <array>

namespace ptrain {

/// `none` is for ops that fuse an activation; ActivationOp does not take it.
enum class Activation { none, gelu_erf, gelu_tanh, tanh, relu, relu6, hard_sigmoid, hard_swish, sigmoid, silu };

/// What an activation's gradient is computed from.
enum class ActivationSaved { input, output };

struct ActivationTraits {
  Activation activation;
  std::string_view name;        // as an attribute of ops that fuse it
  std::string_view type;        // of ActivationOp
  std::string_view grad_type;   // of ActivationGrad
  std::string_view attributes;  // of both; distinguishes forms of one type
  ActivationSaved saved;
  bool in_norms = false;  // fused into batch norms' kernels
};

/// All activations, in the order of the enumerators.
inline constexpr std::array<ActivationTraits, 10> activations{{
    {Activation::none, "none", "", "", "", ActivationSaved::output, true},
    {Activation::gelu_erf, "gelu_erf", "gelu", "gelu_grad", "", ActivationSaved::input},
    {Activation::gelu_tanh, "gelu_tanh", "gelu", "gelu_grad", "approximate=tanh", ActivationSaved::input},
    {Activation::tanh, "tanh", "tanh", "tanh_grad", "", ActivationSaved::output},
    {Activation::relu, "relu", "relu", "relu_grad", "", ActivationSaved::output, true},
    {Activation::relu6, "relu6", "relu6", "relu6_grad", "", ActivationSaved::output, true},
    {Activation::hard_sigmoid, "hard_sigmoid", "hard_sigmoid", "hard_sigmoid_grad", "", ActivationSaved::output},
    {Activation::hard_swish, "hard_swish", "hard_swish", "hard_swish_grad", "", ActivationSaved::input, true},
    {Activation::sigmoid, "sigmoid", "sigmoid", "sigmoid_grad", "", ActivationSaved::output},
    {Activation::silu, "silu", "silu", "silu_grad", "", ActivationSaved::input, true},
}};

/// The activation's row of the table, and its name in graphs and exports.
constexpr const ActivationTraits& get_traits(Activation activation) {
  return activations[static_cast<std::size_t>(activation)];
}
constexpr std::string_view to_string(Activation activation) { return get_traits(activation).name; }

/// Whether the derivative is 0 or 1 everywhere, so that the gradient needs only a mask of one bit per element.
PTRAIN_HD constexpr bool is_gate(Activation activation) {
  return activation == Activation::relu || activation == Activation::relu6;
}

/// inputs: x [...].  outputs: y [...] in x's dtype.
class ActivationOp final : public Op {
 public:
  explicit ActivationOp(Activation activation);
  Activation activation() const { return activation_; }

  std::string_view type() const override { return get_traits(activation_).type; }
  std::string_view kernel() const override { return "activation"; }
  std::string attributes() const override { return std::string(get_traits(activation_).attributes); }
  std::vector<TensorDesc> infer(std::span<const TensorDesc> inputs) const override;
  void gradient(GradientBuilder& builder) const override;
  int inplace_input(int) const override { return 0; }
  Cost cost(std::span<const TensorDesc> inputs, std::span<const TensorDesc> outputs) const override;

 private:
  Activation activation_;
};

/// inputs: saved [...], the activation's input or output as its traits say; dy [...].  outputs: dx [...] in dy's dtype.
class ActivationGrad final : public Op {
 public:
  enum Input { saved, dy };
  explicit ActivationGrad(Activation activation);
  Activation activation() const { return activation_; }

  std::string_view type() const override { return get_traits(activation_).grad_type; }
  std::string_view kernel() const override { return "activation_grad"; }
  std::string attributes() const override { return std::string(get_traits(activation_).attributes); }
  std::vector<TensorDesc> infer(std::span<const TensorDesc> inputs) const override;
  int inplace_input(int) const override { return dy; }
  Cost cost(std::span<const TensorDesc> inputs, std::span<const TensorDesc> outputs) const override;

 private:
  Activation activation_;
};

}  // namespace ptrain

// Fully connected layer y = activation(x w^T + bias), and its two gradients.
#pragma once

#include "core/graph/op.h"
#include "core/ops/activation.h"

#include <optional>

namespace ptrain {

/// inputs:  x [..., K]; w [N, K]; bias [N] (optional).
/// outputs: y [..., N]; with save_pre, pre [..., N], the value before the activation, which the gradient needs.
/// y and pre have x's dtype. w may be f32 while x is low precision: the kernel converts it.
/// bias is used in f32 by the low-precision kernels and is never cast by AMP.
struct LinearAttributes {
  Activation activation = Activation::none;
  bool save_pre = false;  // needed to train through an activation; drop it for inference
};

class Linear final : public OpWith<LinearAttributes> {
 public:
  enum Input { x, w, bias };
  explicit Linear(LinearAttributes attributes = {}) : OpWith(attributes) {}

  std::string_view type() const override { return "linear"; }
  std::string attributes() const override;
  std::vector<TensorDesc> infer(std::span<const TensorDesc> inputs) const override;
  void gradient(GradientBuilder& builder) const override;
  AmpClass amp_class() const override { return AmpClass::white; }
  bool amp_casts_input(int input) const override { return input != bias; }
  Cost cost(std::span<const TensorDesc> inputs, std::span<const TensorDesc> outputs) const override;
};

struct LinearGradInputAttributes {
  /// Activation of the layer that made x; its gradient is fused: dx = (dy w) * activation'.
  Activation activation = Activation::none;
  /// With an activation: the dtype of db, the gradient of that layer's bias; none: no db.
  std::optional<DType> bias;
};

/// inputs: dy [..., N]; w [N, K]; with an activation, saved [..., K] as ActivationGrad takes it, in dy's dtype.
/// outputs: dx [..., K] in dy's dtype; with bias, db [K], the sums of dx over its rows, in f32.
class LinearGradInput final : public OpWith<LinearGradInputAttributes> {
 public:
  enum Input { dy, w, saved };
  explicit LinearGradInput(LinearGradInputAttributes attributes = {}) : OpWith(attributes) {}

  std::string_view type() const override { return "linear_grad_input"; }
  std::string attributes() const override;
  std::vector<TensorDesc> infer(std::span<const TensorDesc> inputs) const override;
  AmpClass amp_class() const override { return AmpClass::white; }
  Cost cost(std::span<const TensorDesc> inputs, std::span<const TensorDesc> outputs) const override;
};

struct LinearGradWeightAttributes {
  DType dtype = DType::f32;  // of both outputs; f32 also with low-precision inputs
  bool bias = true;
};

/// inputs: x [..., K]; dy [..., N].  outputs: dw [N, K]; with bias, db [N]. Both are summed in f32.
class LinearGradWeight final : public OpWith<LinearGradWeightAttributes> {
 public:
  enum Input { x, dy };
  using OpWith::OpWith;

  std::string_view type() const override { return "linear_grad_weight"; }
  std::string attributes() const override;
  std::vector<TensorDesc> infer(std::span<const TensorDesc> inputs) const override;
  AmpClass amp_class() const override { return AmpClass::white; }
  Cost cost(std::span<const TensorDesc> inputs, std::span<const TensorDesc> outputs) const override;
};

}  // namespace ptrain

// Two-dimensional convolution (cross-correlation, as frameworks define it), and its gradients.
#pragma once

#include "core/graph/op.h"
#include "core/ops/activation.h"

namespace ptrain {

/// Geometry shared by a convolution and its gradients; the same in both directions.
struct Conv2dAttributes {
  int stride = 1;
  int padding = 0;  // zeros on every side
  int groups = 1;   // divides input and output channels
  int dilation = 1;

  /// "stride=2 padding=1 ..."; attributes with their default are left out.
  std::string to_string() const;
  /// floor((size + 2 padding - dilation (kernel - 1) - 1) / stride) + 1
  std::int64_t output_size(std::int64_t size, std::int64_t kernel) const;
};

/// y = activation(conv2d(x, w) + bias + residual). Activations whose gradient needs their input are for inference only:
/// they have no gradient.
/// Inputs: x[N,H,W,C]; w[K,R,S,C/groups], whose dtype may differ from x's (fp32 weights of a low-precision layer);
/// optional bias[K] f32; optional residual of y's descriptor. Output: y[N,P,Q,K] in x's dtype.
class Conv2d final : public OpWith<Conv2dAttributes> {
 public:
  enum Input { x, w, bias, residual };
  explicit Conv2d(Conv2dAttributes attributes, Activation activation = Activation::none)
      : OpWith(attributes), activation_(activation) {}
  Activation activation() const { return activation_; }

  std::string_view type() const override { return "conv2d"; }
  std::string attributes() const override;
  std::vector<TensorDesc> infer(std::span<const TensorDesc> inputs) const override;
  void gradient(GradientBuilder& builder) const override;
  AmpClass amp_class() const override { return AmpClass::white; }
  bool amp_casts_input(int input) const override { return input != bias; }
  int inplace_input(int) const override { return residual; }
  Cost cost(std::span<const TensorDesc> inputs, std::span<const TensorDesc> outputs) const override;

 private:
  Activation activation_;
};

struct Conv2dGradInputAttributes {
  Conv2dAttributes conv;
  Shape input_shape;  // [N,H,W,C]
};

/// Inputs: dy[N,P,Q,K]; w[K,R,S,C/groups] of any floating dtype. Output: dx of the convolution's input shape, in dy's
/// dtype. As a layer by itself it is the transposed convolution from K to C channels (torch.nn.ConvTranspose2d).
class Conv2dGradInput final : public OpWith<Conv2dGradInputAttributes> {
 public:
  enum Input { dy, w };
  using OpWith::OpWith;

  std::string_view type() const override { return "conv2d_grad_input"; }
  std::string attributes() const override { return attributes_.conv.to_string(); }
  std::vector<TensorDesc> infer(std::span<const TensorDesc> inputs) const override;
  void gradient(GradientBuilder& builder) const override;
  AmpClass amp_class() const override { return AmpClass::white; }
  Cost cost(std::span<const TensorDesc> inputs, std::span<const TensorDesc> outputs) const override;
};

struct Conv2dGradWeightAttributes {
  Conv2dAttributes conv;
  TensorDesc weight;  // the result: [K,R,S,C/groups]
};

/// Inputs: x[N,H,W,C]; dy[N,P,Q,K], of one dtype. Output: dw[K,R,S,C/groups], accumulated in fp32 and rounded once to
/// `weight.dtype`.
class Conv2dGradWeight final : public OpWith<Conv2dGradWeightAttributes> {
 public:
  enum Input { x, dy };
  using OpWith::OpWith;

  std::string_view type() const override { return "conv2d_grad_weight"; }
  std::string attributes() const override { return attributes_.conv.to_string(); }
  std::vector<TensorDesc> infer(std::span<const TensorDesc> inputs) const override;
  AmpClass amp_class() const override { return AmpClass::white; }
  Cost cost(std::span<const TensorDesc> inputs, std::span<const TensorDesc> outputs) const override;
};

/// Input: dy[N,P,Q,K]. Output: db[K], the sums over all pixels, in f32.
class Conv2dGradBias final : public Op {
 public:
  std::string_view type() const override { return "conv2d_grad_bias"; }
  std::vector<TensorDesc> infer(std::span<const TensorDesc> inputs) const override;
  AmpClass amp_class() const override { return AmpClass::white; }
  Cost cost(std::span<const TensorDesc> inputs, std::span<const TensorDesc> outputs) const override;
};

}  // namespace ptrain

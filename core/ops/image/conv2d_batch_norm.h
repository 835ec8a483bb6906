// Convolutions fused with parts of the batch norms around them: the norm before, with its ReLU, as a prologue on their
// data, and the sums of the norm after as a by-product. Only `fuse_convolutions` makes them, in place of a conv2d and
// its gradients, so they have no gradient of their own.
#pragma once

#include "core/ops/image/conv2d.h"

namespace ptrain {

/// y = conv2d(a, w), where a = x or, with a scale, a = relu(x * scale + offset) per channel, rounded to x's dtype.
/// Inputs: x[N,H,W,C]; w[K,R,S,C/groups]; optional scale[C] and offset[C] f32, both or neither.
/// Outputs: y[N,P,Q,K] in x's dtype; sum[K] and sum_of_squares[K] f32, of y over N, P and Q.
class Conv2dBatchNorm final : public OpWith<Conv2dAttributes> {
 public:
  enum Input { x, w, scale, offset };
  using OpWith::OpWith;

  std::string_view type() const override { return "conv2d_batch_norm"; }
  std::string attributes() const override { return attributes_.to_string(); }
  std::vector<TensorDesc> infer(std::span<const TensorDesc> inputs) const override;
  AmpClass amp_class() const override { return AmpClass::keep; }
  Cost cost(std::span<const TensorDesc> inputs, std::span<const TensorDesc> outputs) const override;
};

/// The gradient of conv2d(relu(batch_norm(x)), w) up to the norm's output, and the sums that the norm's gradient needs:
/// dz = conv2d_grad_input(dy, w) where batch_norm(x) > 0, dgamma = sum(dz (x - mean) invstd), dbeta = sum(dz).
/// Inputs: dy[N,P,Q,K]; w[K,R,S,C/groups]; x[N,H,W,C] in dy's dtype; saved_mean[C], saved_invstd[C], gamma[C], beta[C]
/// f32. Outputs: dz[N,H,W,C] in dy's dtype; dgamma[C], dbeta[C] f32.
class Conv2dBatchNormGradInput final : public OpWith<Conv2dAttributes> {
 public:
  enum Input { dy, w, x, saved_mean, saved_invstd, gamma, beta };
  using OpWith::OpWith;

  std::string_view type() const override { return "conv2d_batch_norm_grad_input"; }
  std::string attributes() const override { return attributes_.to_string(); }
  std::vector<TensorDesc> infer(std::span<const TensorDesc> inputs) const override;
  AmpClass amp_class() const override { return AmpClass::keep; }
  Cost cost(std::span<const TensorDesc> inputs, std::span<const TensorDesc> outputs) const override;
};

/// dw = conv2d_grad_weight(relu(x * scale + offset), dy).
/// Inputs: x[N,H,W,C]; dy[N,P,Q,K], of one dtype; scale[C], offset[C] f32. Output: as Conv2dGradWeight's.
class Conv2dBatchNormGradWeight final : public OpWith<Conv2dGradWeightAttributes> {
 public:
  enum Input { x, dy, scale, offset };
  using OpWith::OpWith;

  std::string_view type() const override { return "conv2d_batch_norm_grad_weight"; }
  std::string attributes() const override { return attributes_.conv.to_string(); }
  std::vector<TensorDesc> infer(std::span<const TensorDesc> inputs) const override;
  AmpClass amp_class() const override { return AmpClass::keep; }
  Cost cost(std::span<const TensorDesc> inputs, std::span<const TensorDesc> outputs) const override;
};

}  // namespace ptrain

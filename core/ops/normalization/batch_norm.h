// Batch normalisation over the channels of NHWC (or [N,C]) data, with the residual addition and the activation that
// may follow.
#pragma once

#include "core/graph/op.h"
#include "core/ops/activation.h"

namespace ptrain {

struct BatchNormAttributes {
  float epsilon = 1e-5f;
  float momentum = 0.1f;
  Activation activation = Activation::none;  // one with ActivationTraits::in_norms
  bool training = true;
  bool sync = false;  // training: statistics over all ranks, which have equally many values each
};

/// y = act((x - mean) * invstd * gamma + beta [+ residual]).
/// Inputs: x[...,C]; gamma[C], beta[C] f32; running_mean[C], running_var[C] f32 state; optional residual (x's
/// descriptor). Training: mean and (biased) variance are the batch's; running = (1 - momentum) running + momentum
/// batch, with the unbiased variance (PyTorch's definition). Outputs: y in x's dtype, saved_mean[C], saved_invstd[C]
/// f32; under both a residual and an activation, which is a gate then, its mask (mask_desc(x)). Inference: the running
/// statistics are used and not changed. Output: y.
class BatchNorm final : public OpWith<BatchNormAttributes> {
 public:
  enum Input { x, gamma, beta, running_mean, running_var, residual };
  enum Output { y, saved_mean, saved_invstd, mask };
  using OpWith::OpWith;

  std::string_view type() const override { return "batch_norm"; }
  std::string attributes() const override;
  std::vector<TensorDesc> infer(std::span<const TensorDesc> inputs) const override;
  void gradient(GradientBuilder& builder) const override;
  AmpClass amp_class() const override { return AmpClass::keep; }
  bool amp_casts_input(int input) const override { return input == x || input == residual; }
  bool mutates_input(int input) const override {
    return attributes_.training && (input == running_mean || input == running_var);
  }
  int inplace_input(int output) const override;
  Cost cost(std::span<const TensorDesc> inputs, std::span<const TensorDesc> outputs) const override;
};

/// The mask of a gate over data [...,C], C a multiple of 8: u8 [...,C/8], the lowest bit of each byte for the first
/// channel; a bit is 1 where the gate is open.
inline TensorDesc mask_desc(const TensorDesc& data) {
  std::vector<std::int64_t> extents = data.shape.dims();
  extents.back() /= 8;
  return {DType::u8, Shape(std::move(extents))};
}

struct BatchNormGradAttributes {
  Activation activation = Activation::none;
  bool residual = false;  // only with a gate; otherwise the residual's gradient is dy itself
  bool sync = false;      // dx is for a batch over all ranks; dgamma and dbeta are this rank's part
};

/// Gradient of a training-mode batch_norm.
/// Inputs: dy, x (of one descriptor); gamma[C], beta[C], saved_mean[C], saved_invstd[C] f32; the activation's mask,
/// absent without a residual (what the activation read is computed again from x); optional dy_more, only with a
/// residual: y's gradient is dy + dy_more, where y is read in two places. Outputs: dx in x's dtype; dgamma[C],
/// dbeta[C] f32; dresidual in x's dtype if residual is set.
class BatchNormGrad final : public OpWith<BatchNormGradAttributes> {
 public:
  enum Input { dy, x, gamma, beta, saved_mean, saved_invstd, mask, dy_more };
  using OpWith::OpWith;

  std::string_view type() const override { return "batch_norm_grad"; }
  std::string attributes() const override;
  std::vector<TensorDesc> infer(std::span<const TensorDesc> inputs) const override;
  AmpClass amp_class() const override { return AmpClass::keep; }
  bool amp_casts_input(int input) const override { return input == dy || input == x; }
  int inplace_input(int output) const override;
  Cost cost(std::span<const TensorDesc> inputs, std::span<const TensorDesc> outputs) const override;
};

}  // namespace ptrain

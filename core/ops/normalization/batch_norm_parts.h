// A training batch norm in parts, for fusion into convolutions (conv2d_batch_norm.h): its statistics from the sums of a
// convolution, its application to the data, and its gradient once the sums over it are known.
#pragma once

#include "core/graph/op.h"
#include "core/ops/activation.h"

namespace ptrain {

struct BatchNormFinalizeAttributes {
  std::int64_t count = 2;  // values per channel
  float epsilon = 1e-5f;
  float momentum = 0.1f;
};

/// Inputs: sum[C], sum_of_squares[C], gamma[C], beta[C] f32; running_mean[C], running_var[C] f32 state.
/// Outputs f32 [C]: saved_mean and saved_invstd as batch_norm's; scale and offset, with which
/// x * scale + offset = (x - mean) * invstd * gamma + beta. Running statistics are updated as batch_norm does.
class BatchNormFinalize final : public OpWith<BatchNormFinalizeAttributes> {
 public:
  enum Input { sum, sum_of_squares, gamma, beta, running_mean, running_var };
  enum Output { saved_mean, saved_invstd, scale, offset };
  using OpWith::OpWith;

  std::string_view type() const override { return "batch_norm_finalize"; }
  std::string attributes() const override;
  std::vector<TensorDesc> infer(std::span<const TensorDesc> inputs) const override;
  AmpClass amp_class() const override { return AmpClass::keep; }
  bool mutates_input(int input) const override { return input == running_mean || input == running_var; }
};

struct BatchNormApplyAttributes {
  Activation activation = Activation::none;
  bool mask = false;  // write the mask of a gate activation, for batch_norm_grad
};

/// y = act(x * scale + offset [+ residual, or residual * residual_scale + residual_offset]).
/// Inputs: x[...,C]; scale[C], offset[C] f32; optional residual (x's descriptor); optional residual_scale[C] and
/// residual_offset[C] f32, which make the residual a batch norm's output too. Outputs: y in x's dtype; the activation's
/// mask if requested.
class BatchNormApply final : public OpWith<BatchNormApplyAttributes> {
 public:
  enum Input { x, scale, offset, residual, residual_scale, residual_offset };
  enum Output { y, mask };
  using OpWith::OpWith;

  std::string_view type() const override { return "batch_norm_apply"; }
  std::string attributes() const override;
  std::vector<TensorDesc> infer(std::span<const TensorDesc> inputs) const override;
  AmpClass amp_class() const override { return AmpClass::keep; }
  int inplace_input(int output) const override { return output == y ? residual : -1; }
  Cost cost(std::span<const TensorDesc> inputs, std::span<const TensorDesc> outputs) const override;
};

/// dx = gamma invstd (dz - dbeta / n - (x - mean) invstd dgamma / n), n the number of values per channel.
/// Inputs: dz, x[...,C] of one descriptor; gamma[C], saved_mean[C], saved_invstd[C], dgamma[C], dbeta[C] f32.
/// Output: dx in x's dtype.
class BatchNormGradApply final : public Op {
 public:
  enum Input { dz, x, gamma, saved_mean, saved_invstd, dgamma, dbeta };

  std::string_view type() const override { return "batch_norm_grad_apply"; }
  std::vector<TensorDesc> infer(std::span<const TensorDesc> inputs) const override;
  AmpClass amp_class() const override { return AmpClass::keep; }
  int inplace_input(int /*output*/) const override { return dz; }
  Cost cost(std::span<const TensorDesc> inputs, std::span<const TensorDesc> outputs) const override;
};

}  // namespace ptrain

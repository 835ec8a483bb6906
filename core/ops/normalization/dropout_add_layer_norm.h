// Dropout, residual addition and layer norm of a transformer block in one pass: y = layer_norm(dropout(x) + residual),
// and its gradient.
#pragma once

#include "core/graph/op.h"

#include <optional>

namespace ptrain {

struct DropoutAddLayerNormAttributes {
  float epsilon = 1e-12f;
  float dropout = 0;              // 0 in evaluation
  std::uint32_t stream = 0;       // random stream of the mask, unique per node
  std::optional<DType> low = {};  // also writes y in this low precision, where residual is f32
};

/// inputs:  x [..., H]; residual [..., H]; gamma f32 [H]; beta f32 [H]; rng i64 [3] = {seed, step, part} (optional
/// without
///          dropout). x and residual may differ in dtype.
/// outputs: y [..., H] and sum [..., H] = dropout(x) + residual, both in residual's dtype; mean, rstd f32 [...];
///          y_low [..., H] = y rounded to `low`, where that is given.
/// The mask is that of dropout(x) with the same stream. `sum` is only for the gradient: nothing else may read it.
class DropoutAddLayerNorm final : public OpWith<DropoutAddLayerNormAttributes> {
 public:
  enum Input { x, residual, gamma, beta, rng };
  enum Output { y, sum, mean, rstd, y_low };
  explicit DropoutAddLayerNorm(DropoutAddLayerNormAttributes attributes);

  std::string_view type() const override { return "dropout_add_layer_norm"; }
  std::string attributes() const override;
  std::vector<TensorDesc> infer(std::span<const TensorDesc> inputs) const override;
  void gradient(GradientBuilder& builder) const override;
  AmpClass amp_class() const override { return AmpClass::black; }
  bool amp_casts_input(int input) const override { return input == x || input == residual; }
  Cost cost(std::span<const TensorDesc> inputs, std::span<const TensorDesc> outputs) const override;
};

struct DropoutAddLayerNormGradAttributes {
  float dropout = 0;
  std::uint32_t stream = 0;
  DType x_dtype = DType::f32;  // of dx
};

/// inputs:  dy [..., H]; sum [..., H]; gamma f32 [H]; mean, rstd f32 [...]; rng i64 [3], optional without dropout;
/// dy_low [..., H] bf16 or f16, optional: added to dy; dy and sum then are f32. outputs: dx [..., H] in x_dtype;
/// dresidual [..., H] in sum's dtype; dgamma f32 [H]; dbeta f32 [H].
/// Without dropout the gradient is LayerNormGrad, whose dx is the gradient of both.
class DropoutAddLayerNormGrad final : public OpWith<DropoutAddLayerNormGradAttributes> {
 public:
  enum Input { dy, sum, gamma, mean, rstd, rng, dy_low };
  using OpWith::OpWith;

  std::string_view type() const override { return "dropout_add_layer_norm_grad"; }
  std::string attributes() const override;
  std::vector<TensorDesc> infer(std::span<const TensorDesc> inputs) const override;
  AmpClass amp_class() const override { return AmpClass::black; }
  bool amp_casts_input(int input) const override { return input == dy || input == sum; }
  Cost cost(std::span<const TensorDesc> inputs, std::span<const TensorDesc> outputs) const override;
};

}  // namespace ptrain

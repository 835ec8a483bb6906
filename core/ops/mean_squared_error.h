// Mean squared error of one prediction per row against its target, and its gradient.
#pragma once

#include "core/graph/op.h"

namespace ptrain {

/// inputs:  predictions [B, 1]; targets f32 [B], NaN in rows that count neither in the loss nor in the mean.
/// outputs: loss f32 [], the mean of (prediction - target)^2 over the rows that count, 0 when there are none
///          (PyTorch's torch.nn.MSELoss).
class MeanSquaredError final : public Op {
 public:
  enum Input { predictions, targets };
  std::string_view type() const override { return "mean_squared_error"; }
  std::vector<TensorDesc> infer(std::span<const TensorDesc> inputs) const override;
  void gradient(GradientBuilder& builder) const override;
  AmpClass amp_class() const override { return AmpClass::black; }
  bool amp_casts_input(int input) const override { return input == predictions; }
  Cost cost(std::span<const TensorDesc> inputs, std::span<const TensorDesc> outputs) const override;
};

/// inputs: predictions [B, 1]; targets f32 [B]; dloss f32 [].  outputs: dpredictions, as the predictions.
class MeanSquaredErrorGrad final : public Op {
 public:
  enum Input { predictions, targets, dloss };
  std::string_view type() const override { return "mean_squared_error_grad"; }
  std::vector<TensorDesc> infer(std::span<const TensorDesc> inputs) const override;
  AmpClass amp_class() const override { return AmpClass::black; }
  bool amp_casts_input(int) const override { return false; }
  Cost cost(std::span<const TensorDesc> inputs, std::span<const TensorDesc> outputs) const override;
};

}  // namespace ptrain

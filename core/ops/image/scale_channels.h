// Scales each channel of an image by its own factor, as squeeze and excitation does, and its gradient.
#pragma once

#include "core/graph/op.h"

namespace ptrain {

/// Inputs: x[N,H,W,C]; factors[N,C] in x's dtype. Output: y[N,H,W,C], x times its image's factor for the channel.
class ScaleChannels final : public Op {
 public:
  enum Input { x, factors };
  std::string_view type() const override { return "scale_channels"; }
  std::vector<TensorDesc> infer(std::span<const TensorDesc> inputs) const override;
  void gradient(GradientBuilder& builder) const override;
  int inplace_input(int /*output*/) const override { return x; }
  Cost cost(std::span<const TensorDesc> inputs, std::span<const TensorDesc> outputs) const override;
};

/// Inputs: dy, x [N,H,W,C] and factors[N,C] of one dtype.
/// Outputs in it: dx = dy times the factors; dfactors[N,C], the sum of dy x over the pixels, taken in fp32.
class ScaleChannelsGrad final : public Op {
 public:
  enum Input { dy, x, factors };
  enum Output { dx, dfactors };
  std::string_view type() const override { return "scale_channels_grad"; }
  std::vector<TensorDesc> infer(std::span<const TensorDesc> inputs) const override;
  int inplace_input(int output) const override { return output == dx ? dy : -1; }
  Cost cost(std::span<const TensorDesc> inputs, std::span<const TensorDesc> outputs) const override;
};

}  // namespace ptrain

// Blur pooling (Zhang 2019), which halves an image after a low-pass filter, and its gradient.
#pragma once

#include "core/graph/op.h"

namespace ptrain {

struct BlurPool2dAttributes {
  std::string to_string() const { return {}; }
};

/// Input: x[N,H,W,C]. Output: y[N,(H+1)/2,(W+1)/2,C] in x's dtype, summed in fp32: the binomial 3x3 filter at every
/// second pixel of rows and columns, images mirrored at their borders (timm's BlurPool2d of filter 3, stride 2).
class BlurPool2d final : public OpWith<BlurPool2dAttributes> {
 public:
  using OpWith::OpWith;

  std::string_view type() const override { return "blur_pool2d"; }
  std::string attributes() const override { return attributes_.to_string(); }
  std::vector<TensorDesc> infer(std::span<const TensorDesc> inputs) const override;
  void gradient(GradientBuilder& builder) const override;
  AmpClass amp_class() const override { return AmpClass::white; }
  Cost cost(std::span<const TensorDesc> inputs, std::span<const TensorDesc> outputs) const override;
};

struct BlurPool2dGradAttributes {
  Shape input_shape;  // [N,H,W,C]
};

/// Input: dy[N,P,Q,C]. Output: dx of the pooling's input shape, in dy's dtype.
class BlurPool2dGrad final : public OpWith<BlurPool2dGradAttributes> {
 public:
  using OpWith::OpWith;

  std::string_view type() const override { return "blur_pool2d_grad"; }
  std::string attributes() const override { return {}; }
  std::vector<TensorDesc> infer(std::span<const TensorDesc> inputs) const override;
  AmpClass amp_class() const override { return AmpClass::white; }
  Cost cost(std::span<const TensorDesc> inputs, std::span<const TensorDesc> outputs) const override;
};

}  // namespace ptrain

// Two-dimensional maximum pooling and its gradient.
#pragma once

#include "core/graph/op.h"

namespace ptrain {

struct MaxPool2dAttributes {
  int kernel = 2;
  int stride = 2;
  int padding = 0;  // minus infinity on every side; at most kernel / 2

  std::string to_string() const;
  /// floor((size + 2 padding - kernel) / stride) + 1
  std::int64_t output_size(std::int64_t size) const { return (size + 2 * padding - kernel) / stride + 1; }
};

/// Input: x[N,H,W,C]. Outputs: y[N,P,Q,C] in x's dtype; argmax[N,P,Q,C] u8, the position r * kernel + s of the maximum
/// in its window (the first of equals; NaN counts as the maximum). kernel * kernel is at most 256. 8-bit integer
/// inputs, which are for inference, have no argmax.
class MaxPool2d final : public OpWith<MaxPool2dAttributes> {
 public:
  using OpWith::OpWith;

  std::string_view type() const override { return "max_pool2d"; }
  std::string attributes() const override { return attributes_.to_string(); }
  std::vector<TensorDesc> infer(std::span<const TensorDesc> inputs) const override;
  void gradient(GradientBuilder& builder) const override;
  AmpClass amp_class() const override { return AmpClass::white; }
  Cost cost(std::span<const TensorDesc> inputs, std::span<const TensorDesc> outputs) const override;
};

struct MaxPool2dGradAttributes {
  MaxPool2dAttributes pool;
  Shape input_shape;  // [N,H,W,C]
};

/// Inputs: dy[N,P,Q,C]; argmax[N,P,Q,C] u8. Output: dx of the pooling's input shape, in dy's dtype.
class MaxPool2dGrad final : public OpWith<MaxPool2dGradAttributes> {
 public:
  enum Input { dy, argmax };
  using OpWith::OpWith;

  std::string_view type() const override { return "max_pool2d_grad"; }
  std::string attributes() const override { return attributes_.pool.to_string(); }
  std::vector<TensorDesc> infer(std::span<const TensorDesc> inputs) const override;
  AmpClass amp_class() const override { return AmpClass::white; }
  Cost cost(std::span<const TensorDesc> inputs, std::span<const TensorDesc> outputs) const override;
};

}  // namespace ptrain

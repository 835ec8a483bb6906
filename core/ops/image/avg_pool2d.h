// Two-dimensional average pooling and its gradient.
#pragma once

#include "core/graph/op.h"

namespace ptrain {

/// Windows that reach over the last row or column are cut off there, and average only the remaining pixels: PyTorch's
/// ceil_mode without count_include_pad.
struct AvgPool2dAttributes {
  int kernel = 2;
  int stride = 2;  // at most the kernel

  std::string to_string() const;
  /// Number of windows along an axis of `size` pixels; each begins inside.
  std::int64_t output_size(std::int64_t size) const;
};

/// Input: x[N,H,W,C]. Output: y[N,P,Q,C] in x's dtype, summed in fp32.
class AvgPool2d final : public OpWith<AvgPool2dAttributes> {
 public:
  using OpWith::OpWith;

  std::string_view type() const override { return "avg_pool2d"; }
  std::string attributes() const override { return attributes_.to_string(); }
  std::vector<TensorDesc> infer(std::span<const TensorDesc> inputs) const override;
  void gradient(GradientBuilder& builder) const override;
  AmpClass amp_class() const override { return AmpClass::white; }
  Cost cost(std::span<const TensorDesc> inputs, std::span<const TensorDesc> outputs) const override;
};

struct AvgPool2dGradAttributes {
  AvgPool2dAttributes pool;
  Shape input_shape;  // [N,H,W,C]
};

/// Input: dy[N,P,Q,C]. Output: dx of the pooling's input shape, in dy's dtype.
class AvgPool2dGrad final : public OpWith<AvgPool2dGradAttributes> {
 public:
  using OpWith::OpWith;

  std::string_view type() const override { return "avg_pool2d_grad"; }
  std::string attributes() const override { return attributes_.pool.to_string(); }
  std::vector<TensorDesc> infer(std::span<const TensorDesc> inputs) const override;
  AmpClass amp_class() const override { return AmpClass::white; }
  Cost cost(std::span<const TensorDesc> inputs, std::span<const TensorDesc> outputs) const override;
};

}  // namespace ptrain

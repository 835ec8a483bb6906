// Average pooling to a fixed grid of windows from images of any size, as a row for a linear layer, and its gradient.
#pragma once

#include "core/graph/op.h"

namespace ptrain {

struct AdaptiveAvgPool2dAttributes {
  std::int64_t size = 1;  // windows along each axis: see core/ops/math/adaptive_pool.h

  std::string to_string() const;
};

/// Input: x[N,H,W,C]. Output: y[N, size * size * C] in x's dtype, windows row by row with their channels innermost,
/// each a mean summed in fp32.
class AdaptiveAvgPool2d final : public OpWith<AdaptiveAvgPool2dAttributes> {
 public:
  using OpWith::OpWith;

  std::string_view type() const override { return "adaptive_avg_pool2d"; }
  std::string attributes() const override { return attributes_.to_string(); }
  std::vector<TensorDesc> infer(std::span<const TensorDesc> inputs) const override;
  void gradient(GradientBuilder& builder) const override;
  Cost cost(std::span<const TensorDesc> inputs, std::span<const TensorDesc> outputs) const override;
};

struct AdaptiveAvgPool2dGradAttributes {
  AdaptiveAvgPool2dAttributes pool;
  Shape input_shape;  // [N,H,W,C]
};

/// Input: dy[N, size * size * C]. Output: dx of the pooling's input shape, in dy's dtype.
class AdaptiveAvgPool2dGrad final : public OpWith<AdaptiveAvgPool2dGradAttributes> {
 public:
  using OpWith::OpWith;

  std::string_view type() const override { return "adaptive_avg_pool2d_grad"; }
  std::string attributes() const override { return attributes_.pool.to_string(); }
  std::vector<TensorDesc> infer(std::span<const TensorDesc> inputs) const override;
  Cost cost(std::span<const TensorDesc> inputs, std::span<const TensorDesc> outputs) const override;
};

}  // namespace ptrain

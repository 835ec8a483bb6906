// Global average pooling of each channel, over one image or several that make a sample, and its gradient.
#pragma once

#include "core/graph/op.h"

namespace ptrain {

struct GlobalAveragePoolAttributes {
  std::int64_t images = 1;  // consecutive images averaged together: the frames of a clip
};

/// Input: x[N,H,W,C], N a multiple of `images`. Output: y[N / images, C] in x's dtype, summed in fp32.
class GlobalAveragePool final : public OpWith<GlobalAveragePoolAttributes> {
 public:
  explicit GlobalAveragePool(Attributes attributes = {}) : OpWith(attributes) {}

  std::string_view type() const override { return "global_average_pool"; }
  std::string attributes() const override;
  std::vector<TensorDesc> infer(std::span<const TensorDesc> inputs) const override;
  void gradient(GradientBuilder& builder) const override;
  Cost cost(std::span<const TensorDesc> inputs, std::span<const TensorDesc> outputs) const override;
};

struct GlobalAveragePoolGradAttributes {
  GlobalAveragePoolAttributes pool;
  Shape input_shape;  // [N,H,W,C]
};

/// Input: dy[N / images, C]. Output: dx of the pooling's input shape, in dy's dtype: dy / (images H W) at every pixel.
class GlobalAveragePoolGrad final : public OpWith<GlobalAveragePoolGradAttributes> {
 public:
  using OpWith::OpWith;

  std::string_view type() const override { return "global_average_pool_grad"; }
  std::vector<TensorDesc> infer(std::span<const TensorDesc> inputs) const override;
  Cost cost(std::span<const TensorDesc> inputs, std::span<const TensorDesc> outputs) const override;
};

}  // namespace ptrain

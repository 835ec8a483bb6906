// The mean over all pixels of each channel, and its gradient.
#pragma once

#include "core/graph/op.h"

namespace ptrain {

/// Input: x[N,H,W,C]. Output: y[N,C] in x's dtype, summed in fp32.
class GlobalAveragePool final : public Op {
 public:
  std::string_view type() const override { return "global_average_pool"; }
  std::vector<TensorDesc> infer(std::span<const TensorDesc> inputs) const override;
  void gradient(GradientBuilder& builder) const override;
  Cost cost(std::span<const TensorDesc> inputs, std::span<const TensorDesc> outputs) const override;
};

struct GlobalAveragePoolGradAttributes {
  Shape input_shape;  // [N,H,W,C]
};

/// Input: dy[N,C]. Output: dx of the pooling's input shape, in dy's dtype: dy / (H W) at every pixel.
class GlobalAveragePoolGrad final : public OpWith<GlobalAveragePoolGradAttributes> {
 public:
  using OpWith::OpWith;

  std::string_view type() const override { return "global_average_pool_grad"; }
  std::vector<TensorDesc> infer(std::span<const TensorDesc> inputs) const override;
  Cost cost(std::span<const TensorDesc> inputs, std::span<const TensorDesc> outputs) const override;
};

}  // namespace ptrain

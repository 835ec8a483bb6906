// Bilinear resizing of images, and its gradient.
#pragma once

#include "core/graph/op.h"

namespace ptrain {

/// Whether an image's corner pixels keep their place, or its outer borders do (PyTorch's align_corners).
enum class Corners { free, aligned };

struct ResizeBilinearAttributes {
  std::int64_t height = 0, width = 0;  // of the output
  Corners corners = Corners::free;

  std::string to_string() const;
};

/// Input: x[N,H,W,C]. Output: y[N,height,width,C] in x's dtype, summed in fp32; without antialiasing
/// (torch.nn.functional.interpolate with mode="bilinear").
class ResizeBilinear final : public OpWith<ResizeBilinearAttributes> {
 public:
  using OpWith::OpWith;

  std::string_view type() const override { return "resize_bilinear"; }
  std::string attributes() const override { return attributes_.to_string(); }
  std::vector<TensorDesc> infer(std::span<const TensorDesc> inputs) const override;
  void gradient(GradientBuilder& builder) const override;
  Cost cost(std::span<const TensorDesc> inputs, std::span<const TensorDesc> outputs) const override;
};

struct ResizeBilinearGradAttributes {
  ResizeBilinearAttributes resize;
  Shape input_shape;  // [N,H,W,C]
};

/// Input: dy[N,height,width,C]. Output: dx of the resizing's input shape, in dy's dtype, summed in fp32.
class ResizeBilinearGrad final : public OpWith<ResizeBilinearGradAttributes> {
 public:
  using OpWith::OpWith;

  std::string_view type() const override { return "resize_bilinear_grad"; }
  std::string attributes() const override { return attributes_.resize.to_string(); }
  std::vector<TensorDesc> infer(std::span<const TensorDesc> inputs) const override;
  Cost cost(std::span<const TensorDesc> inputs, std::span<const TensorDesc> outputs) const override;
};

}  // namespace ptrain

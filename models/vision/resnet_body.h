// ResNet without a head, for classifiers and for models that read its feature maps.
#pragma once

#include "models/vision/resnet.h"
#include "models/vision/vision_blocks.h"

#include <array>

namespace ptrain {

/// Whether blocks of that depth are bottlenecks. Throws Error{usage} unless `depth` is one of the five.
bool has_bottlenecks(int depth);

class ResNetBody : public VisionBlocks {
 protected:
  /// `spec` must outlive this. Names of variables begin with `prefix`.
  ResNetBody(const ResNetSpec& spec, Mode mode, std::string prefix = {}, Norms norms = Norms::batch)
      : VisionBlocks(spec, mode, norms),
        spec_(spec),
        prefix_(std::move(prefix)),
        last_norm_(spec.zero_init_residual ? NormStart::zero : NormStart::one) {}

  /// The feature maps after the four stages: [N, H/4, W/4, ..] up to [N, H/32, W/32, ..] with ImageNet's stem; those
  /// of stages after the first `stages` are left out (no_value). Where a stage's stride would exceed
  /// spec.output_stride, its convolutions are dilated instead (Yu and Koltun 2016), all but the first by the stride
  /// left out, as torchvision's replace_stride_with_dilation.
  std::array<ValueId, 4> body(ValueId images, std::size_t stages = 4);
  /// The stride of a stage's first block, and the dilation of its first and of its other blocks.
  struct Sampling {
    int stride = 1, first_dilation = 1, dilation = 1;
  };
  /// Stage `number` of 1 to 4; names of its variables begin with `prefix`.
  ValueId stage(const std::string& prefix, std::size_t number, ValueId x, const Sampling& sampling);
  /// What is before the first stage.
  ValueId stem(ValueId images);

 private:
  ValueId pooled(const std::string& name, ValueId x);
  /// A 3x3 convolution, norm and ReLU; with blur pooling they run at full size and the blur has the stride.
  ValueId strided(const std::string& name, int number, ValueId x, ConvSpec spec);
  ValueId bottleneck(const std::string& name, ValueId x, std::int64_t width, int stride, int dilation);
  ValueId basic_block(const std::string& name, ValueId x, std::int64_t width, int stride, int dilation);
  /// The identity, or a projection if the shape changes.
  ValueId shortcut(const std::string& name, ValueId x, std::int64_t width, int stride);

  const ResNetSpec& spec_;
  std::string prefix_;
  NormStart last_norm_;  // in each residual branch
};

}  // namespace ptrain

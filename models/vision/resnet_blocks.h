// Stem and stages of a ResNet, for networks that are one and for those that build on its features.
#pragma once

#include "models/vision/resnet.h"
#include "models/vision/vision_blocks.h"

namespace ptrain {

/// Whether blocks of that depth are bottlenecks. Throws Error{usage} when there is no ResNet of it.
bool has_bottlenecks(int depth);

class ResNetBlocks : public VisionBlocks {
 protected:
  /// `prefix` begins the names of all variables. `spec` must outlive this.
  ResNetBlocks(const ResNetSpec& spec, Mode mode, std::string prefix = {})
      : VisionBlocks(spec, mode),
        spec_(spec),
        prefix_(std::move(prefix)),
        last_norm_(spec.zero_init_residual ? NormStart::zero : NormStart::one) {}

  ValueId stem(ValueId images);
  /// Stage 1 to 4, in order. Where its stride would exceed spec.output_stride, its convolutions are dilated instead
  /// (Yu and Koltun 2016), all but the first by the stride left out, as torchvision's replace_stride_with_dilation.
  ValueId layer(int stage, ValueId x);

 private:
  ValueId pooled(const std::string& name, ValueId x);
  ValueId strided(const std::string& name, int number, ValueId x, ConvSpec spec);
  ValueId bottleneck(const std::string& name, ValueId x, std::int64_t width, int stride, int dilation);
  ValueId basic_block(const std::string& name, ValueId x, std::int64_t width, int stride, int dilation);
  ValueId shortcut(const std::string& name, ValueId x, std::int64_t width, int stride);

  const ResNetSpec& spec_;
  std::string prefix_;
  NormStart last_norm_;  // in each residual branch
  int output_stride_ = 4, dilation_ = 1;
};

}  // namespace ptrain

// ResNet without a head, for classifiers and for models that read its feature maps.
#pragma once

#include "models/vision/resnet.h"
#include "models/vision/vision_blocks.h"

#include <array>

namespace ptrain {

/// Throws Error{usage} unless `depth` is one of the five.
bool has_bottlenecks(int depth);

class ResNetBody : public VisionBlocks {
 public:
  /// `spec` must outlive this. Names of variables begin with `prefix`.
  ResNetBody(const ResNetSpec& spec, Mode mode, std::string prefix = {}, Norms norms = Norms::batch)
      : VisionBlocks(spec, mode, norms),
        spec_(spec),
        prefix_(std::move(prefix)),
        last_norm_(spec.zero_init_residual ? NormStart::zero : NormStart::one) {}

 protected:
  /// The feature maps after the four stages: [N, H/4, W/4, ..] up to [N, H/32, W/32, ..] with the usual stem.
  std::array<ValueId, 4> body(ValueId images);

 private:
  ValueId stem(ValueId images);
  ValueId pooled(const std::string& name, ValueId x);
  /// A 3x3 convolution, norm and ReLU; with blur pooling they run at full size and the blur has the stride.
  ValueId strided(const std::string& name, int number, ValueId x, ConvSpec spec);
  ValueId bottleneck(const std::string& name, ValueId x, std::int64_t width, int stride);
  ValueId basic_block(const std::string& name, ValueId x, std::int64_t width, int stride);
  /// The identity, or a projection if the shape changes.
  ValueId shortcut(const std::string& name, ValueId x, std::int64_t width, int stride);

  const ResNetSpec& spec_;
  std::string prefix_;
  NormStart last_norm_;  // in each residual branch
};

}  // namespace ptrain

// ResNet 18 to 152 (He et al. 2016), version 1.5: the stride of a bottleneck lies in its 3x3 convolution.
#pragma once

#include "core/base/choices.h"
#include "core/config/config.h"
#include "core/data/dataset.h"
#include "models/vision_blocks.h"

namespace ptrain {

struct ResNetSpec {
  int depth = 50;  // 18, 34, 50, 101 or 152
  std::int64_t classes = 1000;
  std::int64_t image_size = 224;
  Stem stem = Stem::imagenet;  // not automatic
  float label_smoothing = 0;
  bool zero_init_residual = true;  // the last norm of each block starts at 0, so that blocks start as identities
  PixelScale pixels;
};

/// What the configuration and the data ask for.
ResNetSpec resnet_spec(int depth, const Config& config, const DatasetInfo& data);

/// Throws Error{usage} when the depth is none of the five.
std::unique_ptr<Model> make_resnet(const ResNetSpec& spec);

}  // namespace ptrain

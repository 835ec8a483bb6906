// ConvNeXt (Liu et al. 2022): 7x7 depthwise convolutions between layer norms and linear layers of each pixel; variables
// bear torchvision's names.
#pragma once

#include "core/config/config.h"
#include "core/data/dataset.h"
#include "models/vision_blocks.h"

namespace ptrain {

struct ConvNextSpec {
  std::int64_t classes = 1000;
  std::int64_t image_size = 224;
  float label_smoothing = 0;
  float stochastic_depth = 0.1f;  // of the last block; those before leave their branch out of fewer samples
  PixelScale pixels = {};
};

/// What the configuration and the data ask for.
ConvNextSpec convnext_spec(const Config& config, const DatasetInfo& data);

std::unique_ptr<Model> make_convnext_tiny(const ConvNextSpec& spec);

}  // namespace ptrain

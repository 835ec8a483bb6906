// EfficientNet-B0 (Tan and Le 2019): inverted residuals with squeeze and excitation and SiLU; variables bear
// torchvision's names.
#pragma once

#include "core/config/config.h"
#include "core/data/dataset.h"
#include "models/vision_blocks.h"

namespace ptrain {

struct EfficientNetSpec {
  std::int64_t classes = 1000;
  std::int64_t image_size = 224;
  Stem stem = Stem::imagenet;  // not automatic; small: the first convolution has no stride
  float label_smoothing = 0;
  float dropout = 0.2f;           // before the classifier
  float stochastic_depth = 0.2f;  // block i of n leaves its branch out of a sample with i / n of this probability
  PixelScale pixels = {};
};

/// What the configuration and the data ask for.
EfficientNetSpec efficientnet_spec(const Config& config, const DatasetInfo& data);

std::unique_ptr<Model> make_efficientnet_b0(const EfficientNetSpec& spec);

}  // namespace ptrain

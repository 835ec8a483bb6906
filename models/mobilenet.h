// MobileNetV1 (Howard et al. 2017), V2 (Sandler et al. 2018) and V3-Large (Howard et al. 2019): a filter to each
// channel, then 1x1 convolutions. Variables bear timm's names (mobilenetv1_100) and torchvision's (mobilenet_v2,
// mobilenet_v3_large).
#pragma once

#include "core/config/config.h"
#include "core/data/dataset.h"
#include "models/vision_blocks.h"

namespace ptrain {

enum class MobileNetVersion { v1, v2, v3_large };

struct MobileNetSpec {
  MobileNetVersion version = MobileNetVersion::v1;
  std::int64_t classes = 1000;
  std::int64_t image_size = 224;
  Stem stem = Stem::imagenet;  // not automatic; small: the first convolution has no stride
  float label_smoothing = 0;
  float dropout = 0;  // before the classifier
  PixelScale pixels;
};

/// What the configuration and the data ask for; V1 has no dropout.
MobileNetSpec mobilenet_spec(MobileNetVersion version, const Config& config, const DatasetInfo& data);

std::unique_ptr<Model> make_mobilenet(const MobileNetSpec& spec);

}  // namespace ptrain

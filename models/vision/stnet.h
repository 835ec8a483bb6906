// stNet on ResNet-50 (He et al. 2019, "StNet: Local and Global Spatial-Temporal Modeling for Action Recognition"), as
// in PaddlePaddle/models: each segment of a clip is one image, which stacks successive frames; ResNet runs over these
// images, with convolutions over the segments after its second and third stage, and a temporal Xception block before
// the classifier.
#pragma once

#include "models/vision/resnet.h"

namespace ptrain {

struct StnetSpec : ResNetSpec {
  std::int64_t frames_per_segment = 5;
};

/// The spec for a configuration and data.
StnetSpec stnet_spec(const Config& config, const DatasetInfo& data);

/// Variables of the trunk have torchvision's names. Training may start from a file of a ResNet-50's, whose first
/// convolution reads single images (WeightMapping::stacked_images) and which lacks what is temporal.
std::unique_ptr<Model> make_stnet(const StnetSpec& spec);

}  // namespace ptrain

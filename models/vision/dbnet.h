// DB (Liao et al. 2020, "Real-time scene text detection with differentiable binarization"): a ResNet, a pyramid of its
// feature maps that are joined at a quarter of the image's size, and two heads, for the probability of text and for the
// threshold of each pixel. In files the ResNet is "backbone.body", the pyramid "backbone.fpn".
#pragma once

#include "models/vision/detector_spec.h"

namespace ptrain {

struct DbnetSpec : DetectorSpec {
  std::string name = "dbnet_resnet18";
};

/// The published form with a ResNet of 18 layers, without deformable convolutions.
DbnetSpec dbnet_spec(const Config& config, const DatasetInfo& data);
/// A small one that learns in seconds, for tests.
DbnetSpec dbnet_tiny_spec(const Config& config, const DatasetInfo& data);

/// Outputs logits [N,H,W,1] of text and, in training, threshold_logits [N,H,W,1]. Throws Error{usage} for images whose
/// sides are no multiples of 32 px.
std::unique_ptr<Model> make_dbnet(const DbnetSpec& spec);

}  // namespace ptrain

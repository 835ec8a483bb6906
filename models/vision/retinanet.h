// RetinaNet (Lin et al. 2017, "Focal loss for dense object detection"): a ResNet, a feature pyramid (Lin et al. 2017,
// "Feature pyramid networks") and two heads that all its levels share. Variables have torchvision's names.
#pragma once

#include "models/vision/detector_spec.h"

namespace ptrain {

struct RetinaNetSpec : DetectorSpec {
  std::string name = "retinanet_resnet50_fpn";
  int head_convolutions = 4;  // before the last one of each head
};

/// The published form, torchvision's.
RetinaNetSpec retinanet_spec(const Config& config, const DatasetInfo& data);
/// A small one that learns in seconds, for tests.
RetinaNetSpec retinanet_tiny_spec(const Config& config, const DatasetInfo& data);

/// Outputs class_logits [N, A, classes] and box_deltas [N, A, 4] for retinanet_anchors (core/ops/detection/anchors.h).
/// Sides of images have to be multiples of 32 px.
std::unique_ptr<Model> make_retinanet(const RetinaNetSpec& spec);

}  // namespace ptrain

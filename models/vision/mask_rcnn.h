// Mask R-CNN (He et al. 2017) on a feature pyramid: a ResNet, a network that proposes regions, and two heads that look
// at each region. Variables have torchvision's names.
#pragma once

#include "models/vision/detector_spec.h"

namespace ptrain {

struct MaskRcnnSpec : DetectorSpec {
  /// Boxes of an image that a loss is of.
  struct Sample {
    std::int32_t count, most_positives;
  };

  std::string name = "maskrcnn_resnet50_fpn";
  std::int64_t features = 1024;  // of a region, in the box head
  int mask_convolutions = 4;
  Sample anchors{256, 128}, regions{512, 128};
  std::int32_t learnt_proposals = 2000, proposals = 1000;  // of an image, and of each level before those that overlap
                                                           // are left out: in training, and otherwise
  std::int32_t detections = 100;                           // of an image
};

/// The published form, torchvision's.
MaskRcnnSpec mask_rcnn_spec(const Config& config, const DatasetInfo& data);
/// A small one that learns in seconds, for tests.
MaskRcnnSpec mask_rcnn_tiny_spec(const Config& config, const DatasetInfo& data);

/// Outputs detections [N, D, 6] and mask_probabilities [N, D, 28, 28]. In training it samples what is learnt, so
/// that it reads objects and random numbers, and outputs what losses are of: class_logits [N, A, 1] and box_deltas [N,
/// A, 4] for proposal_anchors (core/ops/detection/anchors.h), anchor_sample, region_*, mask_logits and mask_targets
/// (core/data/tensor_names.h). Sides of images have to be multiples of 32 px.
std::unique_ptr<Model> make_mask_rcnn(const MaskRcnnSpec& spec);

}  // namespace ptrain

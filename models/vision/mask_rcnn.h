// Mask R-CNN (He et al. 2017): a ResNet, a network that proposes regions, and two heads that look at each region, on a
// feature pyramid or on the ResNet's fourth feature map, C4. Variables have torchvision's names; C4's heads are those
// that its MaskRCNN class takes, with the ResNet's last stage as roi_heads.box_head.layer4.
#pragma once

#include "models/vision/detector_spec.h"

namespace ptrain {

/// single_map: regions are looked at by the ResNet's last stage, which both heads share.
enum class MaskRcnnForm { pyramid, single_map };

struct MaskRcnnSpec : DetectorSpec {
  /// Boxes of an image that a loss is of.
  struct Sample {
    std::int32_t count, most_positives;
  };

  /// Regions: of each level before those that overlap are left out, and of an image.
  struct Proposals {
    std::int32_t candidates, count;
  };

  std::string name = "maskrcnn_resnet50_fpn";
  MaskRcnnForm form = MaskRcnnForm::pyramid;
  std::int64_t features = 1024;  // of a region, in the box head
  int mask_convolutions = 4;
  Sample anchors{256, 128}, regions{512, 128};
  Proposals learnt_proposals{2000, 2000}, proposals{1000, 1000};  // in training, and otherwise
  std::int32_t detections = 100;                                  // of an image
};

/// The published form, torchvision's.
MaskRcnnSpec mask_rcnn_spec(const Config& config, const DatasetInfo& data);
/// That on C4, with as many proposals as Detectron2's and masks of 14x14 px.
MaskRcnnSpec mask_rcnn_c4_spec(const Config& config, const DatasetInfo& data);
/// Small ones that learn in seconds, for tests.
MaskRcnnSpec mask_rcnn_tiny_spec(const Config& config, const DatasetInfo& data);
MaskRcnnSpec mask_rcnn_c4_tiny_spec(const Config& config, const DatasetInfo& data);

/// Outputs detections [N, D, 6] and mask_probabilities [N, D, side, side]. In training it samples what is learnt, so
/// that it reads objects and random numbers, and outputs what losses are of: class_logits [N, A, 1] and box_deltas [N,
/// A, 4] for proposal_anchors (core/ops/detection/anchors.h), anchor_sample, region_*, mask_logits and mask_targets
/// (core/data/tensor_names.h). Sides of images have to be multiples of 32 px.
std::unique_ptr<Model> make_mask_rcnn(const MaskRcnnSpec& spec);

}  // namespace ptrain

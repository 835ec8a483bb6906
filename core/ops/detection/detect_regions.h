// The objects that the second stage of a detector finds in regions of an image.
#pragma once

#include "core/graph/op.h"
#include "core/ops/math/boxes.h"

namespace ptrain {

struct RegionDetectionAttributes {
  BoxWeights weights{10, 5};
  float width = 0, height = 0;   // px, of the frame that boxes are clipped to
  float score = 0.05f;           // lowest score, exclusive
  float least_side = 1e-2f;      // px, of boxes
  float overlap = 0.5f;          // largest intersection over union of two objects of one class
  std::int32_t per_image = 100;  // objects
};

/// inputs:  regions f32 [N,R,K], of which the first four columns are corners in px; logits [N,R,C] of C classes, the
///          first of which is background; deltas [N,R,C*4] of each class's box from the region (BoxDeltas times the
///          weights), in the logits' dtype; placements f32 [N,5] (optional), to whose images boxes are clipped.
/// outputs: detections f32 [N,per_image,6]: x0, y0, x1, y1, score and class, counted without the background, by
///          descending score; unused rows are 0 and have class -1; logit_classes i32 [N,per_image], their classes as
///          logits count them, 0 in unused rows.
/// As torchvision's Fast R-CNN: scores are softmax's; a class's boxes are decoded and clipped; a box that overlaps a
/// better one of its class is left out (greedy non-maximum suppression). Equal scores are ordered by region and class.
/// A region without area yields no detections.
class DetectRegions final : public OpWith<RegionDetectionAttributes> {
 public:
  enum Input { regions, logits, deltas, placements };
  enum Output { detections, logit_classes };
  using OpWith::OpWith;
  std::string_view type() const override { return "detect_regions"; }
  std::string attributes() const override;
  std::vector<TensorDesc> infer(std::span<const TensorDesc> inputs) const override;
  AmpClass amp_class() const override { return AmpClass::extra_black; }
  bool amp_casts_input(int input) const override { return input != regions && input != placements; }

  /// The most classes of one region whose scores can exceed attributes().score.
  static std::int64_t max_classes_per_region(const RegionDetectionAttributes& attributes, std::int64_t classes);
};

}  // namespace ptrain

// PP-YOLOE+ (Xu et al. 2022, "PP-YOLOE: an evolved version of YOLO"): a residual network of cross-stage partial stages
// (CSPRepResNet), a path aggregation network (CustomCSPPAN) and an efficient task-aligned head. Variables have
// PaddleDetection's names.
#pragma once

#include "models/vision/image_model.h"

namespace ptrain {

struct PpYoloeSpec : ImageSpec {
  std::string name = "ppyoloe_plus_s";
  float width = 0.5f, depth = 0.33f;  // factors of the largest form's channels and blocks
};

/// The small one of PaddleDetection.
PpYoloeSpec ppyoloe_plus_s_spec(const Config& config, const DatasetInfo& data);
/// A smaller one that learns in seconds, for tests.
PpYoloeSpec ppyoloe_tiny_spec(const Config& config, const DatasetInfo& data);

/// Outputs class_logits [N, A, classes] and box_bins [N, A, 4 * 17] of the cells of strides 32, 16 and 8 px
/// (make_cells, core/ops/detection/anchors.h). Sides of images have to be multiples of 32 px.
std::unique_ptr<Model> make_pp_yoloe(const PpYoloeSpec& spec);

}  // namespace ptrain

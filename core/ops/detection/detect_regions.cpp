#include "core/ops/detection/detect_regions.h"

#include "core/ops/detection/detect_objects.h"
#include "core/ops/detection/match_boxes.h"
#include "core/ops/require.h"

#include <algorithm>

namespace ptrain {

std::int64_t DetectRegions::max_classes_per_region(const RegionDetectionAttributes& attributes, std::int64_t classes) {
  const std::int64_t others = classes - 1;
  return attributes.score > 0 ? std::min(others, static_cast<std::int64_t>(1 / attributes.score) + 1) : others;
}

std::string DetectRegions::attributes() const {
  const RegionDetectionAttributes& a = attrs();
  return fmt::format("image={:g}x{:g} score={:g} least_side={:g} overlap={:g} per_image={}", a.height, a.width, a.score,
                     a.least_side, a.overlap, a.per_image);
}

std::vector<TensorDesc> DetectRegions::infer(std::span<const TensorDesc> inputs) const {
  require_count(inputs, 3, 4);
  require_boxes(inputs[regions], "regions");
  require_floating(inputs[logits], "logits");
  const Shape &shape = inputs[logits].shape, &boxes = inputs[regions].shape;
  require(shape.rank() == 3 && shape[0] == boxes[0] && shape[1] == boxes[1] && shape[2] >= 2,
          "logits: expected [{},{},2 or more], got {}", boxes[0], boxes[1], inputs[logits].to_string());
  require_desc(inputs[deltas], {inputs[logits].dtype, Shape{shape[0], shape[1], shape[2] * 4}}, "deltas");
  require_placements(inputs, placements, shape[0]);
  require(attrs().per_image >= 1, "per_image: expected at least 1, got {}", attrs().per_image);
  return {{DType::f32, Shape{shape[0], attrs().per_image, DetectObjects::columns}},
          {DType::i32, Shape{shape[0], attrs().per_image}}};
}

}  // namespace ptrain

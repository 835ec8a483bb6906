#include "core/ops/detection/mask_targets.h"

#include "core/ops/detection/match_boxes.h"
#include "core/ops/require.h"

namespace ptrain {

std::string MaskTargets::attributes() const { return fmt::format("bins={}", attrs().bins); }

std::vector<TensorDesc> MaskTargets::infer(std::span<const TensorDesc> inputs) const {
  require_count(inputs, 5, 5);
  require_boxes(inputs[boxes], "boxes");
  const std::int64_t images = inputs[boxes].shape[0], count = inputs[boxes].shape[1];
  require_desc(inputs[matches], {DType::i32, Shape{images, count}}, "matches");
  const TensorDesc &objects = inputs[ranges], &masks = inputs[runs];
  require(
      objects.dtype == DType::i32 && objects.shape.rank() == 3 && objects.shape[0] == images && objects.shape[2] == 2,
      "ranges: expected i32 [{},M,2], got {}", images, objects.to_string());
  require(masks.dtype == DType::i32 && masks.shape.rank() == 2 && masks.shape[0] == images,
          "runs: expected i32 [{},T], got {}", images, masks.to_string());
  require_placements(inputs, placements, images);
  require(attrs().bins >= 1, "bad: {}", attributes());
  return {{DType::f32, Shape{images, count, attrs().bins, attrs().bins}}};
}

}  // namespace ptrain

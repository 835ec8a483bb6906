#include "core/ops/detection/detect_objects.h"

#include "core/ops/detection/match_boxes.h"
#include "core/ops/require.h"

namespace ptrain {
namespace {

constexpr std::int32_t most_per_level = 1 << 14;

}  // namespace

std::string DetectObjects::attributes() const {
  const DetectionAttributes& a = attrs();
  return fmt::format("levels={} image={:g}x{:g} score={:g} per_level={} overlap={:g}{} per_image={} least_side={:g}{}",
                     a.anchors.levels, a.height, a.width, a.score, a.per_level, a.overlap,
                     a.within == SuppressWithin::levels ? " within_levels" : "", a.per_image, a.least_side,
                     a.form == BoxForm::distances ? " of_distances" : "");
}

std::vector<TensorDesc> DetectObjects::infer(std::span<const TensorDesc> inputs) const {
  require_count(inputs, 2, 3);
  require_floating(inputs[logits], "logits");
  const Shape& shape = inputs[logits].shape;
  const DetectionAttributes& a = attrs();
  require(shape.rank() == 3 && shape[1] == a.anchors.count(), "logits: expected [N,{},K], got {}", a.anchors.count(),
          inputs[logits].to_string());
  require(shape[1] * shape[2] < std::int64_t{1} << 32, "logits: more candidates than 32 bits can number");
  require_desc(inputs[deltas], {inputs[logits].dtype, Shape{shape[0], shape[1], 4}}, "deltas");
  require_placements(inputs, placements, shape[0]);
  require(a.per_level >= 1 && a.per_level <= most_per_level && a.per_image >= 1,
          "expected 1 to {} candidates per level, got {}", most_per_level, a.per_level);
  return {{DType::f32, Shape{shape[0], a.per_image, columns}}};
}

}  // namespace ptrain

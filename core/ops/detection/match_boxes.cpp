#include "core/ops/detection/match_boxes.h"

#include "core/ops/require.h"

namespace ptrain {

void require_placements(std::span<const TensorDesc> inputs, int input, std::int64_t images) {
  if (!has_input(inputs, input)) return;
  require_desc(inputs[static_cast<std::size_t>(input)], {DType::f32, Shape{images, placement_columns}}, "placements");
}

void require_boxes(const TensorDesc& boxes, const char* what) {
  require(boxes.dtype == DType::f32 && boxes.shape.rank() == 3 && boxes.shape[2] >= 4,
          "{}: expected f32 [N,B,4 or more], got {}", what, boxes.to_string());
}

std::string MatchBoxes::attributes() const {
  return fmt::format("positive={:g} background={:g}", attrs().positive, attrs().background);
}

std::vector<TensorDesc> MatchBoxes::infer(std::span<const TensorDesc> inputs) const {
  require_count(inputs, 2, 2);
  require_boxes(inputs[boxes], "boxes");
  require_boxes(inputs[objects], "objects");
  const Shape& shape = inputs[boxes].shape;
  require(inputs[objects].shape[0] == shape[0], "objects: expected those of {} images, got {}", shape[0],
          inputs[objects].to_string());
  return {{DType::i32, Shape{shape[0], shape[1]}}};
}

Cost MatchBoxes::cost(std::span<const TensorDesc> inputs, std::span<const TensorDesc> outputs) const {
  constexpr double overlap_flops = 14;
  const auto pairs = static_cast<double>(outputs[0].count() * inputs[objects].shape[1]);
  return {overlap_flops * pairs, traffic(inputs, outputs)};
}

}  // namespace ptrain

#include "core/ops/detection/assign_boxes.h"

#include "core/ops/detection/detect_objects.h"
#include "core/ops/require.h"

namespace ptrain {

std::string AssignBoxes::attributes() const {
  return fmt::format("levels={} per_object={}", attrs().anchors.levels, attrs().per_object);
}

std::vector<TensorDesc> AssignBoxes::infer(std::span<const TensorDesc> inputs) const {
  require_count(inputs, 3, 3);
  require_floating(inputs[logits], "logits");
  const Shape& shape = inputs[logits].shape;
  const std::int64_t anchors = attrs().anchors.count();
  require(shape.rank() == 3 && shape[1] == anchors, "logits: expected [N,{},K], got {}", anchors,
          inputs[logits].to_string());
  const Shape sides{shape[0], anchors, 4};
  require_desc(inputs[distances], {DType::f32, sides}, "distances");
  const Shape& given = inputs[objects].shape;
  require(inputs[objects].dtype == DType::f32 && given.rank() == 3 && given[0] == shape[0] &&
              given[2] == DetectObjects::columns,
          "objects: expected f32 [{},M,{}], got {}", shape[0], int{DetectObjects::columns},
          inputs[objects].to_string());
  require(attrs().per_object >= 1, "expected 1 or more anchors per object, got {}", attrs().per_object);
  const Shape each{shape[0], anchors};
  return {{DType::i32, each}, {DType::f32, each}, {DType::f32, sides}};
}

Cost AssignBoxes::cost(std::span<const TensorDesc> inputs, std::span<const TensorDesc> outputs) const {
  constexpr double pair_flops = 6;  // most anchors have their centre elsewhere
  const auto pairs = static_cast<double>(outputs[labels].count() * inputs[objects].shape[1]);
  return {pair_flops * pairs, traffic(inputs, outputs)};
}

}  // namespace ptrain

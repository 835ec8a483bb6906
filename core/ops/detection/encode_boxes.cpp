#include "core/ops/detection/encode_boxes.h"

#include "core/ops/detection/match_boxes.h"
#include "core/ops/require.h"

namespace ptrain {

std::string EncodeBoxes::attributes() const {
  return fmt::format("centre={:g} size={:g}", attrs().centre, attrs().size);
}

std::vector<TensorDesc> EncodeBoxes::infer(std::span<const TensorDesc> inputs) const {
  require_count(inputs, 2, 2);
  require_boxes(inputs[boxes], "boxes");
  require_boxes(inputs[objects], "objects");
  const Shape &shape = inputs[boxes].shape, &other = inputs[objects].shape;
  require(shape[0] == other[0] && shape[1] == other[1], "expected an object for each box, got {} and {}",
          inputs[boxes].to_string(), inputs[objects].to_string());
  return {{DType::f32, Shape{shape[0], shape[1], 4}}};
}

Cost EncodeBoxes::cost(std::span<const TensorDesc> inputs, std::span<const TensorDesc> outputs) const {
  constexpr double logarithm_flops = 12, others = 10;  // of a box
  const double count = static_cast<double>(outputs[0].count()) / 4;
  return {(2 * logarithm_flops + others) * count, traffic(inputs, outputs)};
}

}  // namespace ptrain

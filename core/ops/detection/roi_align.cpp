#include "core/ops/detection/roi_align.h"

#include "core/ops/require.h"

namespace ptrain {
namespace {

/// The shape of the regions on maps [N,H,W,C].
Shape aligned_shape(const RoiAlignAttributes& align, const TensorDesc& boxes, const Shape& map) {
  require(align.bins >= 1 && align.samples >= 1 && align.levels.finest_stride >= 1, "bad: {}", align.to_string());
  require(boxes.dtype == DType::f32 && boxes.shape.rank() == 3 && boxes.shape[2] >= 4,
          "boxes: expected f32 [N,R,4 or more], got {}", boxes.to_string());
  require(map.rank() == 4 && map[0] == boxes.shape[0], "expected maps [{},H,W,C], got {}", boxes.shape[0],
          map.to_string());
  return {boxes.shape[0] * boxes.shape[1], align.bins, align.bins, map[3]};
}

/// A bin reads four pixels for each of its samples.
double count_operations(const RoiAlignAttributes& align, const TensorDesc& regions) {
  return 8.0 * align.samples * align.samples * static_cast<double>(regions.count());
}

}  // namespace

std::string RoiAlignAttributes::to_string() const {
  return fmt::format("levels={} finest_stride={} bins={} samples={}", levels.count, levels.finest_stride, bins,
                     samples);
}

std::vector<TensorDesc> RoiAlign::infer(std::span<const TensorDesc> inputs) const {
  const auto levels = static_cast<std::size_t>(attributes_.levels.count);
  require(levels >= 1 && levels <= RoiLevels::most, "expected 1 to {} levels", RoiLevels::most);
  require_count(inputs, maps + levels, maps + levels);
  for (const TensorDesc& map : inputs.subspan(maps)) {
    require_floating(map, "map");
    aligned_shape(attributes_, inputs[boxes], map.shape);
    require(map.dtype == inputs[maps].dtype && map.shape[3] == inputs[maps].shape[3],
            "expected maps of one dtype and number of channels, got {} and {}", inputs[maps].to_string(),
            map.to_string());
  }
  return {{inputs[maps].dtype, aligned_shape(attributes_, inputs[boxes], inputs[maps].shape)}};
}

void RoiAlign::gradient(GradientBuilder& builder) const {
  RoiAlignGradAttributes attributes{attributes_, {}};
  bool is_needed = false;
  for (int level = 0; level < attributes_.levels.count; ++level) {
    attributes.maps.push_back(builder.desc(builder.input(maps + level)).shape);
    is_needed = is_needed || builder.needs_gradient(maps + level);
  }
  if (!is_needed) return;
  const std::vector<ValueId> gradients = builder.emit(std::make_shared<RoiAlignGrad>(std::move(attributes)),
                                                      {builder.input(boxes), builder.output_gradient(0)});
  for (int level = 0; level < attributes_.levels.count; ++level) {
    if (builder.needs_gradient(maps + level)) {
      builder.set_input_gradient(maps + level, gradients[static_cast<std::size_t>(level)]);
    }
  }
}

/// Of the maps, the regions read about as much as they write.
Cost RoiAlign::cost(std::span<const TensorDesc> inputs, std::span<const TensorDesc> outputs) const {
  return {count_operations(attributes_, outputs[0]),
          static_cast<double>(inputs[boxes].bytes()) + 2 * static_cast<double>(outputs[0].bytes())};
}

std::vector<TensorDesc> RoiAlignGrad::infer(std::span<const TensorDesc> inputs) const {
  require_count(inputs, 2, 2);
  require_floating(inputs[dy], "data");
  const std::vector<Shape>& maps = attributes_.maps;
  require(maps.size() == static_cast<std::size_t>(attributes_.align.levels.count), "expected a shape for each level");
  std::vector<TensorDesc> gradients;
  for (const Shape& map : maps) {
    require_shape(inputs[dy], aligned_shape(attributes_.align, inputs[boxes], map), "dy");
    gradients.push_back({inputs[dy].dtype, map});
  }
  return gradients;
}

Cost RoiAlignGrad::cost(std::span<const TensorDesc> inputs, std::span<const TensorDesc> outputs) const {
  return {count_operations(attributes_.align, inputs[dy]), traffic(inputs, outputs)};
}

}  // namespace ptrain

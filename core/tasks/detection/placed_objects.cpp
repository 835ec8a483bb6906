#include "core/tasks/detection/placed_objects.h"

#include "core/data/boxes/annotated_images.h"
#include "core/data/image/framing.h"
#include "core/data/tensor_names.h"
#include "core/ops/detection/detect_objects.h"

#include <algorithm>

namespace ptrain {
namespace {

CornerBox place_box(const AnnotatedObject& object, const FramePlacement& place) {
  const auto width = static_cast<float>(place.resized.width), height = static_cast<float>(place.resized.height);
  const float scale_x = place.scale_x(), scale_y = place.scale_y();
  const auto [x, y, w, h] = object.box;
  CornerBox box{static_cast<float>(x) * scale_x, static_cast<float>(y) * scale_y, static_cast<float>(x + w) * scale_x,
                static_cast<float>(y + h) * scale_y};
  if (place.mirror == Mirror::horizontal) box = {width - box.x1, box.y0, width - box.x0, box.y1};
  return clip_box(box, width, height);
}

}  // namespace

PlacedObjects place_objects(const Batch& batch, std::int64_t row) {
  const FramePlacement place = read_placement(batch.at(tensor_names::placements).row<float>(row));
  PlacedObjects placed;
  for (const AnnotatedObject& one : read_objects(batch.at(tensor_names::annotations).row<std::int64_t>(row))) {
    if (one.crowd || !(one.box[2] > 0) || !(one.box[3] > 0)) continue;
    const CornerBox box = place_box(one, place);
    if (!(box.width() > 0) || !(box.height() > 0)) continue;
    placed.boxes.push_back(box);
    placed.labels.push_back(one.label);
    placed.masks.push_back({static_cast<std::int32_t>(one.first_run), static_cast<std::int32_t>(one.runs)});
  }
  return placed;
}

void write_placed(const PlacedObjects& placed, std::span<float> objects) {
  for (std::size_t i = 0; i < placed.boxes.size(); ++i) {
    const CornerBox& box = placed.boxes[i];
    const std::array row{box.x0, box.y0, box.x1, box.y1, 1.0f, static_cast<float>(placed.labels[i])};
    static_assert(row.size() == DetectObjects::columns);
    std::ranges::copy(row, objects.begin() + static_cast<std::ptrdiff_t>(i * row.size()));
  }
}

}  // namespace ptrain

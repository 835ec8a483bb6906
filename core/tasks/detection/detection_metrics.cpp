#include "core/tasks/detection/detection_metrics.h"

#include "core/data/boxes/annotated_images.h"
#include "core/data/image/framing.h"
#include "core/data/tensor_names.h"
#include "core/ops/detection/detect_objects.h"
#include "core/tasks/detection/paste_mask.h"
#include "core/tasks/prediction.h"

#include <fmt/format.h>

#include <algorithm>
#include <array>
#include <cmath>

namespace ptrain {
namespace {

/// A box of the model's input in px of the original image.
CornerBox restore_box(CornerBox box, const FramePlacement& place) {
  const auto width = static_cast<float>(place.resized.width);
  if (place.mirror == Mirror::horizontal) box = {width - box.x1, box.y0, width - box.x0, box.y1};
  const float scale_x = place.scale_x(), scale_y = place.scale_y();
  return {box.x0 / scale_x, box.y0 / scale_y, box.x1 / scale_x, box.y1 / scale_y};
}

}  // namespace

std::vector<DetectedBox> read_detections(std::span<const float> detections, std::span<const float> placement) {
  using Column = DetectObjects::Column;
  std::vector<DetectedBox> boxes;
  for (; detections.size() >= Column::columns && detections[Column::label] >= 0;
       detections = detections.subspan(Column::columns)) {
    CornerBox box{detections[Column::x0], detections[Column::y0], detections[Column::x1], detections[Column::y1]};
    if (!placement.empty()) {
      const FramePlacement place = read_placement(placement);
      const ImageSize filled = place.resized;
      box = restore_box(clip_box(box, static_cast<float>(filled.width), static_cast<float>(filled.height)), place);
    }
    boxes.push_back({std::lround(detections[Column::label]),
                     {double{box.x0}, double{box.y0}, double{box.x1} - double{box.x0}, double{box.y1} - double{box.y0}},
                     double{detections[Column::score]}});
  }
  return boxes;
}

std::vector<DetectedBox> read_found(const Batch& batch, const Batch& scores, std::int64_t row) {
  const HostTensor* const placements = batch.find(tensor_names::placements);
  const auto placement = placements == nullptr ? std::span<const float>() : placements->row<float>(row);
  const auto detections = scores.at(tensor_names::detections).row<float>(row);
  std::vector<DetectedBox> found = read_detections(detections, placement);
  const HostTensor* const masks = scores.find(tensor_names::mask_probabilities);
  if (masks == nullptr) return found;
  const ImageSize frame = find_image_size(batch);
  const FramePlacement place = placements == nullptr ? fit_inside(frame, frame) : read_placement(placement);
  const auto each = static_cast<std::size_t>(masks->shape()[2] * masks->shape()[3]);
  for (std::size_t i = 0; i < found.size(); ++i) {
    const CornerBox box = restore_box(read_corners(detections.data() + i * DetectObjects::columns), place);
    found[i].mask = paste_mask(masks->row<float>(row).subspan(i * each, each), box, place.original);
  }
  return found;
}

std::vector<AnnotatedBox> read_annotated(const Batch& batch, std::int64_t row) {
  const HostTensor* const masks = batch.find(tensor_names::object_masks);
  std::vector<AnnotatedBox> annotated;
  for (const AnnotatedObject& one : read_objects(batch.at(tensor_names::annotations).row<std::int64_t>(row))) {
    AnnotatedBox& made = annotated.emplace_back(AnnotatedBox{one.label, one.box, one.area, one.crowd, {}});
    if (masks == nullptr) continue;
    const FramePlacement place = read_placement(batch.at(tensor_names::placements).row<float>(row));
    made.mask = read_mask(one, masks->row<std::int32_t>(row), place.original);
  }
  return annotated;
}

std::vector<MetricInfo> describe_figures(MatchedBy matched_by) {
  const bool of_masks = matched_by == MatchedBy::masks;
  const auto score = [&](const char* name, const char* title, const char* help, MetricView view = MetricView::full) {
    MetricInfo info{name, title, "of 1", MetricKind::score, true, help, view};
    if (of_masks) {
      info.help = fmt::format("as {}, of masks", name);
      info.name = fmt::format("mask_{}", name);
      info.title = fmt::format("mask {}", title);
    }
    return info;
  };
  return {score("map", "mAP", "mean average precision of boxes over IoU of 0.50 to 0.95, as COCO's", MetricView::brief),
          score("map50", "mAP@0.50", "mean average precision at an IoU of 0.50", MetricView::brief),
          score("map75", "mAP@0.75", "mean average precision at an IoU of 0.75"),
          score("map_small", "mAP small", "mAP of objects below 32^2 px"),
          score("map_medium", "mAP medium", "mAP of objects of 32^2 to 96^2 px"),
          score("map_large", "mAP large", "mAP of objects above 96^2 px"),
          score("mar1", "mAR@1", "mean average recall with 1 detection of a class in an image"),
          score("mar10", "mAR@10", "mean average recall with 10 of them"),
          score("mar100", "mAR@100", "mean average recall with 100 of them"),
          score("mar_small", "mAR small", "mAR@100 of objects below 32^2 px"),
          score("mar_medium", "mAR medium", "mAR@100 of objects of 32^2 to 96^2 px"),
          score("mar_large", "mAR large", "mAR@100 of objects above 96^2 px")};
}

std::vector<MetricValue> measure_figures(MatchedBy matched_by, const CocoFigures& f) {
  const std::array figures{f.ap,  f.ap50, f.ap75,  f.ap_small, f.ap_medium, f.ap_large,
                           f.ar1, f.ar10, f.ar100, f.ar_small, f.ar_medium, f.ar_large};
  const std::vector<MetricInfo> all = describe_figures(matched_by);
  std::vector<MetricValue> values;
  for (std::size_t i = 0; i < figures.size(); ++i) {
    values.push_back(measured(all[i], figures[i] < 0 ? std::nullopt : std::optional(figures[i])));
  }
  return values;
}

std::vector<MetricInfo> DetectionMetrics::infos() {
  std::vector<MetricInfo> all = describe_figures(MatchedBy::boxes);
  all.push_back(loss_info());
  return all;
}

void DetectionMetrics::add_batch(const Batch& batch, std::optional<double> loss, const Batch& scores) {
  if (!batch.has(tensor_names::annotations)) return;
  for (std::int64_t row = 0; row < batch.count; ++row) {
    precision_.add_image(index_of_row(batch, row), read_annotated(batch, row), read_found(batch, scores, row));
  }
  add_samples(batch.count);
  add_loss(loss, batch.count);
}

std::vector<double> DetectionMetrics::state() const {
  std::vector<double> state = CountedMetrics::state();
  const std::vector<double> matches = precision_.state();
  state.insert(state.end(), matches.begin(), matches.end());
  return state;
}

void DetectionMetrics::merge(std::span<const double> state) {
  CountedMetrics::merge(state);
  precision_.merge(state.subspan(state_size));
}

std::vector<MetricValue> DetectionMetrics::values() const {
  std::vector<MetricValue> values = measure_figures(MatchedBy::boxes, precision_.figures());
  values.push_back(measured(loss_info(), known_loss()));
  return values;
}

}  // namespace ptrain

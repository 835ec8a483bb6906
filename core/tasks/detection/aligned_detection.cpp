#include "core/tasks/detection/aligned_detection.h"

#include "core/ops/detection/anchors.h"
#include "core/ops/detection/assign_boxes.h"
#include "core/ops/detection/box_distances.h"
#include "core/ops/detection/box_distribution_loss.h"
#include "core/ops/detection/detect_objects.h"
#include "core/ops/detection/sigmoid_focal_loss.h"
#include "core/ops/tensor/binary.h"
#include "core/ops/tensor/reduce.h"
#include "core/ops/tensor/unary.h"
#include "core/tasks/detection/placed_objects.h"

#include <fmt/format.h>

#include <array>
#include <limits>

namespace ptrain {
namespace {

constexpr std::array<std::int32_t, 3> strides{32, 16, 8};  // px

AnchorGrid cells_of(const Graph& graph) {
  const Shape images = graph.desc(graph.find_value(tensor_names::images)).shape;  // [N,H,W,3]
  return make_cells(strides, images[1], images[2]);
}

/// The bins, and the boxes of their means.
struct Boxes {
  ValueId bins, distances;
};
Boxes add_distances(Graph& graph) {
  const ValueId bins = require_output(graph, tensor_names::box_bins);
  return {bins, graph.add("box_distances", std::make_shared<BoxDistances>(), {bins})};
}

}  // namespace

std::vector<Loss> AlignedDetection::add_losses(Graph& graph, Mode /*mode*/) const {
  const ValueId logits = require_output(graph, tensor_names::class_logits);
  const auto [bins, distances] = add_distances(graph);
  AssignBoxesAttributes attributes;
  attributes.anchors = cells_of(graph);
  const std::vector<ValueId> assigned =
      graph.add_node("assigned", std::make_shared<AssignBoxes>(attributes),
                     {logits, distances, graph.find_value(tensor_names::object_boxes)});
  const ValueId labels = assigned[AssignBoxes::labels], scores = assigned[AssignBoxes::scores];
  const ValueId sum =
      graph.add("score_sum", std::make_shared<Reduce>(ReduceAttributes{.sums = AmpClass::extra_black}), {scores});
  const UnaryAttributes at_least_one{UnaryFunction::clamp, {1, std::numeric_limits<float>::max()}};
  const ValueId divisor = graph.add("score_divisor", std::make_shared<Unary>(at_least_one), {sum});

  const ValueId classes = graph.add("class_sum", std::make_shared<SigmoidFocalLoss>(FocalLossAttributes{}),
                                    {logits, labels, no_value, scores});
  const std::vector<ValueId> boxes = graph.add_node("box_sums", std::make_shared<BoxDistributionLoss>(),
                                                    {bins, assigned[AssignBoxes::targets], scores});
  const auto mean = [&](const char* name, ValueId total, float weight) {
    const auto divide = std::make_shared<Binary>(BinaryFunction::div);
    return Loss{name, graph.add(fmt::format("{}_loss", name), divide, {total, divisor}), weight};
  };
  return {mean("classification", classes, 1), mean("giou", boxes[BoxDistributionLoss::overlap], 2.5f),
          mean("distribution", boxes[BoxDistributionLoss::distribution], 0.5f)};
}

void AlignedDetection::postprocess(Graph& graph) const {
  const ValueId logits = require_output(graph, tensor_names::class_logits);
  DetectionAttributes attributes;
  attributes.anchors = cells_of(graph);
  const Shape images = graph.desc(graph.find_value(tensor_names::images)).shape;
  attributes.width = static_cast<float>(images[2]);
  attributes.height = static_cast<float>(images[1]);
  attributes.score = 0.01f;
  attributes.overlap = 0.7f;
  attributes.form = BoxForm::distances;
  const ValueId detections = graph.add(tensor_names::detections, std::make_shared<DetectObjects>(attributes),
                                       {logits, add_distances(graph).distances});
  graph.clear_outputs();
  graph.set_output(tensor_names::detections, detections);
}

void AlignedDetection::collate(Batch& batch) const {
  if (!batch.has(tensor_names::annotations)) return;
  const std::int64_t objects = batch.at(tensor_names::annotations).shape()[1];
  batch.add({tensor_names::object_boxes, DType::f32, {objects, DetectObjects::columns}});
  for (std::int64_t row = 0; row < batch.count; ++row) {
    write_placed(place_objects(batch, row), batch.at(tensor_names::object_boxes).row<float>(row));
  }
}

}  // namespace ptrain

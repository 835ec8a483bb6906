#include "core/tasks/detection/instance_segmentation.h"

#include "core/ops/binary_cross_entropy.h"
#include "core/ops/detection/detect_objects.h"
#include "core/ops/detection/detect_regions.h"
#include "core/ops/detection/encode_boxes.h"
#include "core/ops/softmax_cross_entropy.h"
#include "core/ops/tensor/slice.h"
#include "core/tasks/detection/instance_metrics.h"
#include "core/tasks/detection/match_anchors.h"
#include "core/tasks/detection/placed_objects.h"
#include "core/tasks/loss_builder.h"

#include <algorithm>
#include <array>

namespace ptrain {
namespace {

/// Whether sampled anchors have an object, and where it is.
void add_proposal_losses(Graph& graph, std::vector<Loss>& losses) {
  LossBuilder build(graph, "proposal_losses");
  const ValueId logits = build.output(tensor_names::class_logits), deltas = build.output(tensor_names::box_deltas);
  const ValueId sample = build.output(tensor_names::anchor_sample);
  const ValueId targets = graph.add_input(box_targets, {DType::f32, build.shape(deltas)});
  const ValueId matches = build.pick_rows(build.input(tensor_names::anchor_matches), sample);
  const ValueId has_object = build.to_numbers(build.is_at_least(matches, 0), DType::i32);
  const ValueId labels = build.ignore_others(build.is_at_least(sample, 0), has_object);

  const std::int64_t rows = build.shape(sample).count();
  const ValueId scores = build.reshape(build.pick_rows(logits, sample), Shape{rows, 1});
  losses.push_back(
      {"objectness", build.add(std::make_shared<BinaryCrossEntropy>(), {scores, build.reshape(labels, Shape{rows})})});
  const ValueId differences =
      build.smooth_differences(build.pick_rows(deltas, sample), build.pick_rows(targets, sample));
  losses.push_back(
      {"rpn_box_reg", build.mean(differences, build.weigh(labels, 1, 1), build.sum(build.weigh(labels, 0)))});
}

/// The classes of sampled regions, and where their objects are. Returns the classes, i32 [N,R].
ValueId add_region_losses(Graph& graph, std::vector<Loss>& losses) {
  LossBuilder build(graph, "region_losses");
  const ValueId logits = build.output(tensor_names::region_logits), deltas = build.output(tensor_names::region_deltas);
  const ValueId boxes = build.output(tensor_names::region_boxes), matches = build.output(tensor_names::region_matches);
  const ValueId objects = build.input(tensor_names::object_boxes), classes = build.input(tensor_names::object_labels);
  const Shape shape = build.shape(logits);  // [N,R,classes]
  const ValueId labels =
      build.ignore_others(build.is_at_least(matches, BoxMatch::background), build.pick_rows(classes, matches));
  losses.push_back({"classifier", build.add(std::make_shared<SoftmaxCrossEntropy>(),
                                            {logits, build.reshape(labels, Shape{shape[0] * shape[1]})})});

  const ValueId own_deltas = build.pick_class(build.reshape(deltas, Shape{shape[0], shape[1], shape[2], 4}), labels, 2);
  constexpr BoxWeights weights = RegionDetectionAttributes{}.weights;
  const ValueId targets = build.add(std::make_shared<EncodeBoxes>(weights),
                                    {boxes, build.pick_rows(objects, matches, AmpClass::extra_black)});
  losses.push_back({"box_reg", build.mean(build.smooth_differences(own_deltas, targets), build.weigh(labels, 1, 1),
                                          build.sum(build.weigh(labels, 0)))});
  return labels;
}

/// The pixels of the objects of sampled regions.
void add_mask_loss(Graph& graph, ValueId region_labels, std::vector<Loss>& losses) {
  LossBuilder build(graph, "mask_loss");
  const ValueId logits = build.output(tensor_names::mask_logits), targets = build.output(tensor_names::mask_targets);
  const Shape shape = build.shape(targets);  // [N,P,28,28]
  const ValueId labels = build.add(std::make_shared<Slice>(SliceAttributes{1, 0, shape[1]}), {region_labels});
  const ValueId entropy = build.combine(BinaryFunction::sub, build.apply(UnaryFunction::softplus, logits),
                                        build.combine(BinaryFunction::mul, logits, targets));
  const ValueId weights = build.weigh(labels, 1, 2);
  const auto pixels = static_cast<float>(shape[2] * shape[3]);
  const ValueId count = build.apply(UnaryFunction::affine, build.sum(weights), {pixels, 0});
  losses.push_back({"mask", build.mean(entropy, weights, count)});
}

}  // namespace

std::vector<Loss> InstanceSegmentation::add_losses(Graph& graph, Mode /*mode*/) const {
  std::vector<Loss> losses;
  add_proposal_losses(graph, losses);
  const ValueId labels = add_region_losses(graph, losses);
  add_mask_loss(graph, labels, losses);
  return losses;
}

void InstanceSegmentation::collate(Batch& batch) const {
  if (!batch.has(tensor_names::annotations)) return;
  const ImageSize size = find_image_size(batch);
  const AnchorGrid grid = make_anchors(anchors(), size.height, size.width);
  const std::int64_t objects = batch.at(tensor_names::annotations).shape()[1];
  batch.add({tensor_names::anchor_matches, DType::i32, {grid.count()}, double{BoxMatch::ignored}});
  batch.add({box_targets, DType::f32, {grid.count(), 4}});
  batch.add({tensor_names::object_boxes, DType::f32, {objects, DetectObjects::columns}});
  batch.add({tensor_names::object_labels, DType::i32, {objects}});
  batch.add({tensor_names::mask_ranges, DType::i32, {objects, 2}});
  batch.at(tensor_names::anchor_matches).fill_rows(0, BoxMatch::ignored);
  for (std::int64_t row = 0; row < batch.count; ++row) {
    const PlacedObjects placed = place_objects(batch, row);
    const AnchorMatches matches = match_anchors(anchors(), grid, placed.boxes);
    std::ranges::copy(matches.objects, batch.at(tensor_names::anchor_matches).row<std::int32_t>(row).begin());
    write_box_targets(grid, matches, placed.boxes, batch.at(box_targets).row<float>(row));
    write_placed(placed, batch.at(tensor_names::object_boxes).row<float>(row));
    auto label = batch.at(tensor_names::object_labels).row<std::int32_t>(row);
    auto range = batch.at(tensor_names::mask_ranges).row<std::int32_t>(row);
    for (std::size_t i = 0; i < placed.boxes.size(); ++i) {
      label[i] = 1 + placed.labels[i];
      std::ranges::copy(placed.masks[i], range.begin() + static_cast<std::ptrdiff_t>(2 * i));
    }
  }
}

std::vector<MetricInfo> InstanceSegmentation::metrics(std::int64_t /*classes*/) const {
  return InstanceMetrics::infos();
}

std::unique_ptr<Metrics> InstanceSegmentation::make_metrics(std::int64_t /*classes*/,
                                                            const std::vector<std::string>& /*names*/) const {
  return std::make_unique<InstanceMetrics>();
}

}  // namespace ptrain

#include "core/tasks/detection/detection.h"

#include "core/config/config.h"
#include "core/data/boxes/annotated_images.h"
#include "core/ops/detection/detect_objects.h"
#include "core/ops/detection/sigmoid_focal_loss.h"
#include "core/ops/tensor/binary.h"
#include "core/ops/tensor/reduce.h"
#include "core/ops/tensor/unary.h"
#include "core/tasks/detection/detection_metrics.h"
#include "core/tasks/detection/match_anchors.h"
#include "core/tasks/detection/placed_objects.h"

#include <fmt/format.h>

#include <algorithm>
#include <cstdlib>
#include <map>

namespace ptrain {
namespace {

// Targets that collate() makes besides box_targets; A anchors.
constexpr const char* anchor_labels = "anchor_labels";    // i32 [N,A], a class; -1: none
constexpr const char* anchor_weights = "anchor_weights";  // f32 [N,A], in the loss of classes
constexpr const char* box_weights = "box_weights";        // f32 [N,A,1], in the loss of boxes

}  // namespace

void Detection::check(const Config& config, const RejectKey& reject) const {
  constexpr const char* reason = "is for images with one class each, here they have boxes";
  reject_class_keys(config.data, reject, reason);
  if (config.train.mixup > 0) reject("train.mixup", reason);
  if (config.train.cutmix > 0) reject("train.cutmix", reason);
  if (config.train.label_smoothing > 0) reject("train.label_smoothing", reason);
  if (config.data.trivial_augment) reject("data.trivial_augment", reason);
  if (config.data.random_erasing > 0) reject("data.random_erasing", reason);
  if (config.data.augment == Augmentation::random_resized_crop) reject("data.augment", reason);
  if (config.eval.flip) reject("eval.flip", "is not possible: boxes cannot be averaged");
}

std::vector<Loss> Detection::add_losses(Graph& graph, Mode /*mode*/) const {
  const ValueId logits = require_output(graph, tensor_names::class_logits);
  const ValueId deltas = require_output(graph, tensor_names::box_deltas);
  const Shape shape = graph.desc(deltas).shape;
  const Shape anchors{shape[0], shape[1]};
  const ValueId labels = graph.add_input(anchor_labels, {DType::i32, anchors});
  const ValueId weights = graph.add_input(anchor_weights, {DType::f32, anchors});
  const ValueId targets = graph.add_input(box_targets, {DType::f32, shape});
  const ValueId counted = graph.add_input(box_weights, {DType::f32, Shape{shape[0], shape[1], 1}});

  const auto focal = std::make_shared<SigmoidFocalLoss>(FocalLossAttributes{});
  const ValueId classes = graph.add("classification_loss", focal, {logits, labels, weights});
  const ValueId difference =
      graph.add("box_difference", std::make_shared<Binary>(BinaryFunction::sub), {deltas, targets});
  const ValueId distance =
      graph.add("box_distance", std::make_shared<Unary>(UnaryAttributes{UnaryFunction::abs}), {difference});
  const ValueId weighted =
      graph.add("weighted_box_distance", std::make_shared<Binary>(BinaryFunction::mul), {distance, counted});
  const ValueId boxes =
      graph.add("box_loss", std::make_shared<Reduce>(ReduceAttributes{.sums = AmpClass::extra_black}), {weighted});
  return {{"classification", classes}, {"bbox_regression", boxes}};
}

void Detection::postprocess(Graph& graph) const {
  const ValueId logits = require_output(graph, tensor_names::class_logits);
  const ValueId deltas = require_output(graph, tensor_names::box_deltas);
  const Shape images = graph.desc(graph.find_value(tensor_names::images)).shape;  // [N,H,W,3]
  DetectionAttributes attributes;
  attributes.anchors = make_anchors(retinanet_anchors, images[1], images[2]);
  attributes.width = static_cast<float>(images[2]);
  attributes.height = static_cast<float>(images[1]);
  const ValueId detections =
      graph.add(tensor_names::detections, std::make_shared<DetectObjects>(attributes), {logits, deltas});
  graph.clear_outputs();
  graph.set_output(tensor_names::detections, detections);
}

namespace {

struct TargetRows {
  std::span<std::int32_t> labels;
  std::span<float> weights, boxes, box_weights;
};

/// Fills zeroed rows. `share` is the image's weight in the batch's mean.
void write_targets(const AnchorGrid& anchors, const PlacedObjects& objects, float share, const TargetRows& rows) {
  const AnchorMatches matches = match_anchors(retinanet_anchors, anchors, objects.boxes);
  write_box_targets(anchors, matches, objects.boxes, rows.boxes);
  const float weight = share / static_cast<float>(std::max<std::int64_t>(1, matches.positives));
  for (std::size_t i = 0; i < matches.objects.size(); ++i) {
    const std::int32_t object = matches.objects[i];
    rows.labels[i] = object >= 0 ? objects.labels[static_cast<std::size_t>(object)] : -1;
    rows.weights[i] = object == BoxMatch::ignored ? 0 : weight;
    rows.box_weights[i] = object >= 0 ? weight : 0;
  }
}

}  // namespace

void Detection::collate(Batch& batch) const {
  if (!batch.has(tensor_names::annotations)) return;
  const ImageSize size = find_image_size(batch);
  const AnchorGrid anchors = make_anchors(retinanet_anchors, size.height, size.width);
  const std::int64_t count = anchors.count();
  batch.add({anchor_labels, DType::i32, {count}, -1});
  batch.add({anchor_weights, DType::f32, {count}});
  batch.add({box_targets, DType::f32, {count, 4}});
  batch.add({box_weights, DType::f32, {count, 1}});
  const float share = 1 / static_cast<float>(std::max<std::int64_t>(1, batch.count));
  for (std::int64_t row = 0; row < batch.count; ++row) {
    write_targets(anchors, place_objects(batch, row), share,
                  {batch.at(anchor_labels).row<std::int32_t>(row), batch.at(anchor_weights).row<float>(row),
                   batch.at(box_targets).row<float>(row), batch.at(box_weights).row<float>(row)});
  }
}

std::vector<MetricInfo> Detection::metrics(std::int64_t /*classes*/) const { return DetectionMetrics::infos(); }

std::unique_ptr<Metrics> Detection::make_metrics(std::int64_t /*classes*/,
                                                 const std::vector<std::string>& /*names*/) const {
  return std::make_unique<DetectionMetrics>();
}

std::vector<std::string> Detection::columns(const PredictionOptions& form) const { return form.class_names; }

namespace {

using Counts = std::map<std::int64_t, std::int64_t>;  // of objects, by class

Prediction::Json by_name(const Counts& counts, const PredictionOptions& form) {
  Prediction::Json named = Prediction::Json::object();
  for (const auto& [label, count] : counts) named[form.class_names.at(static_cast<std::size_t>(label))] = count;
  return named;
}

double difference(const Counts& counts, const Counts& expected) {
  std::map<std::int64_t, std::int64_t> rest = expected;
  for (const auto& [label, count] : counts) rest[label] -= count;
  double sum = 0;
  for (const auto& [label, count] : rest) sum += static_cast<double>(std::abs(count));
  return sum;
}

}  // namespace

std::vector<Prediction> Detection::predictions(const Batch& batch, const Batch& scores,
                                               const PredictionOptions& form) const {
  const HostTensor* const annotations = batch.find(tensor_names::annotations);
  std::vector<Prediction> all;
  for (std::int64_t row = 0; row < batch.count; ++row) {
    Prediction& made = all.emplace_back();
    made.index = index_of_row(batch, row);
    made.details = {{"objects", Prediction::Json::array()}};
    Counts counts;
    made.objects = read_found(batch, scores, row);
    for (const DetectedBox& one : made.objects) {
      const std::string& name = form.class_names.at(static_cast<std::size_t>(one.category));
      Prediction::Json object{{"name", name}, {"index", one.category}, {"score", one.score}, {"box", one.box}};
      if (one.has_mask()) object["segmentation"] = to_coco(one.mask);
      made.details["objects"].push_back(std::move(object));
      if (one.score < least_shown_score) continue;
      ++counts[one.category];
      made.text += fmt::format("{}{} {:.4f} at {:.0f},{:.0f} {:.0f}x{:.0f}", made.text.empty() ? "" : "; ", name,
                               one.score, one.box[0], one.box[1], one.box[2], one.box[3]);
    }
    if (made.text.empty()) made.text = "nothing";
    made.answer = by_name(counts, form);
    for (std::size_t label = 0; label < form.class_names.size(); ++label) {
      made.cells.push_back(std::to_string(counts[static_cast<std::int64_t>(label)]));
    }
    std::erase_if(counts, [](const auto& one) { return one.second == 0; });
    if (annotations == nullptr) continue;
    Counts expected;
    for (const AnnotatedObject& one : read_objects(annotations->row<std::int64_t>(row))) {
      if (!one.crowd) ++expected[one.label];
    }
    made.label = by_name(expected, form);
    made.error = difference(counts, expected);
  }
  return all;
}

}  // namespace ptrain

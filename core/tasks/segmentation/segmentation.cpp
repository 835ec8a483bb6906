#include "core/tasks/segmentation/segmentation.h"

#include "core/config/config.h"
#include "core/ops/softmax_cross_entropy.h"
#include "core/tasks/segmentation/pixel_classes.h"
#include "core/tasks/segmentation/segmentation_metrics.h"

#include <fmt/format.h>

#include <algorithm>

namespace ptrain {
namespace {

constexpr float auxiliary_weight = 0.5f;

}  // namespace

void Segmentation::check(const Config& config, const RejectKey& reject) const {
  constexpr const char* reason = "is for images with one class each, here each pixel has one";
  if (config.model.classes == 1) reject("model.classes", "expected at least 2, or 0 to take the data's, got 1");
  if (config.data.class_weights.balanced) {
    reject("data.class_weights", "balanced counts samples by class, here pixels have classes; expected numbers");
  }
  if (config.data.sampling == Sampling::balanced) reject("data.sampling", reason);
  if (config.train.mixup > 0) reject("train.mixup", reason);
  if (config.train.cutmix > 0) reject("train.cutmix", reason);
}

std::vector<Loss> Segmentation::add_losses(Graph& graph, Mode mode) const {
  const ValueId logits = require_output(graph, tensor_names::logits);
  const ValueId auxiliary = graph.find_output(tensor_names::auxiliary);
  const Shape shape = graph.desc(logits).shape;
  const ValueId masks = graph.add_input(tensor_names::masks, {DType::i32, Shape{shape.count() / shape[-1]}});
  const TaskOptions chosen = options(mode);
  std::vector<ValueId> targets{masks};
  if (chosen.weighted) {
    const ValueId weights = graph.add_input(tensor_names::class_weights, {DType::f32, Shape{shape[-1]}});
    targets.insert(targets.end(), {no_value, no_value, weights});
  }
  const auto add_loss = [&](const char* name, ValueId scores) {
    std::vector<ValueId> inputs{scores};
    inputs.insert(inputs.end(), targets.begin(), targets.end());
    return graph.add(name, std::make_shared<SoftmaxCrossEntropy>(chosen.label_smoothing), std::move(inputs));
  };
  std::vector<Loss> losses{{"cross_entropy", add_loss(tensor_names::loss, logits)}};
  if (auxiliary != no_value) {
    losses.push_back({"auxiliary", add_loss("auxiliary_loss", auxiliary), auxiliary_weight});
  }
  return losses;
}

std::vector<MetricInfo> Segmentation::metrics(std::int64_t /*classes*/) const { return SegmentationMetrics::infos(); }

std::unique_ptr<Metrics> Segmentation::make_metrics(std::int64_t classes, const std::vector<std::string>& names) const {
  return std::make_unique<SegmentationMetrics>(classes, names);
}

Batch Segmentation::mirrored(Batch scores) const {
  HostTensor& logits = scores.at(tensor_names::logits);
  const std::int64_t width = logits.shape()[-2], classes = logits.shape()[-1];
  const auto values = logits.values<float>();
  for (auto line = values.begin(); line != values.end(); line += width * classes) {
    for (std::int64_t left = 0, right = width - 1; left < right; ++left, --right) {
      std::swap_ranges(line + left * classes, line + (left + 1) * classes, line + right * classes);
    }
  }
  return scores;
}

namespace {

/// The most likely class of each pixel [N, H, W].
HostTensor likeliest_classes(const HostTensor& logits) {
  const std::vector<std::int64_t>& dims = logits.shape().dims();
  const auto classes = static_cast<std::size_t>(dims.back());
  const auto pixels = logits.values<float>();
  HostTensor labels(DType::i32, Shape(std::vector(dims.begin(), dims.end() - 1)));
  const auto likeliest = labels.values<std::int32_t>();
  for (std::size_t i = 0; i < likeliest.size(); ++i) {
    likeliest[i] = likeliest_class(pixels.subspan(i * classes, classes));
  }
  return labels;
}

}  // namespace

Batch Segmentation::answers(Batch scores) const {
  HostTensor labels = likeliest_classes(scores.at(tensor_names::logits));
  const std::vector<std::int64_t>& dims = labels.shape().dims();
  const TensorSpec spec{tensor_names::masks, DType::i32, Shape(std::vector(dims.begin() + 1, dims.end()))};
  scores.add(spec) = std::move(labels);
  return scores;
}

std::vector<std::string> Segmentation::columns(const PredictionOptions& form) const { return form.class_names; }

namespace {

/// By class, its share of the pixels that have a class.
std::vector<double> shares(std::span<const std::int32_t> labels, std::size_t classes) {
  std::vector<double> shares(classes);
  const auto labelled = static_cast<double>(std::ranges::count_if(labels, [](std::int32_t one) { return one >= 0; }));
  for (const std::int32_t label : labels) {
    if (label >= 0) shares[static_cast<std::size_t>(label)] += 1 / labelled;
  }
  return shares;
}

Prediction::Json by_name(const std::vector<double>& shares, const PredictionOptions& form) {
  Prediction::Json named = Prediction::Json::object();
  for (std::size_t i = 0; i < shares.size(); ++i) {
    if (shares[i] > 0) named[form.class_names.at(i)] = shares[i];
  }
  return named;
}

IndexImage make_label_map(const PixelClasses& found) {
  IndexImage map{found.size.width, found.size.height, {}};
  map.values.reserve(found.classes.size());
  for (const std::int32_t one : found.classes) map.values.push_back(static_cast<std::uint8_t>(one));
  return map;
}

double wrong_fraction(std::span<const std::int32_t> predictions, std::span<const std::int32_t> labels) {
  double wrong = 0, known = 0;
  for (std::size_t i = 0; i < labels.size(); ++i) {
    known += labels[i] >= 0 ? 1 : 0;
    wrong += labels[i] >= 0 && predictions[i] != labels[i] ? 1 : 0;
  }
  return known > 0 ? wrong / known : 0;
}

}  // namespace

std::vector<Prediction> Segmentation::predictions(const Batch& batch, const Batch& scores,
                                                  const PredictionOptions& form) const {
  const HostTensor& logits = scores.at(tensor_names::logits);
  std::vector<Prediction> all;
  for (std::int64_t row = 0; row < batch.count; ++row) {
    const PixelClasses labels = get_labels(batch, row), pixels = find_likeliest(batch, logits, row, labels.size);
    const auto found = shares(pixels.classes, form.class_names.size());
    Prediction& made = all.emplace_back();
    made.index = index_of_row(batch, row);
    made.answer = by_name(found, form);
    made.details = {{"shares", made.answer}};
    for (const auto& [name, share] : made.answer.items()) {
      made.text += fmt::format("{}{} {:.4f}", made.text.empty() ? "" : ", ", name, share.get<double>());
    }
    for (const double share : found) made.cells.push_back(fmt::format("{:.6g}", share));
    if (form.label_maps) made.label_map = make_label_map(pixels);
    if (labels.empty()) continue;
    made.label = by_name(shares(labels.classes, form.class_names.size()), form);
    made.error = wrong_fraction(pixels.classes, labels.classes);
  }
  return all;
}

}  // namespace ptrain

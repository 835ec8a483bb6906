#include "core/tasks/classification/classification.h"

#include "core/config/config.h"
#include "core/data/tensor_names.h"
#include "core/ops/softmax_cross_entropy.h"

#include <fmt/format.h>

#include <algorithm>
#include <cmath>
#include <numeric>

namespace ptrain {

void Classification::check(const Config& config, const RejectKey& reject) const {
  if (config.model.classes != 1) return;
  reject("model.classes", "expected at least 2, or 0 to take the data's, got 1; one value is model.head regression");
}

std::vector<Loss> Classification::add_losses(Graph& graph, Mode mode) const {
  const ValueId logits = require_output(graph, tensor_names::logits);
  const Shape shape = graph.desc(logits).shape;
  const Shape rows{shape[0]};
  const TaskOptions chosen = options(mode);
  std::vector<ValueId> inputs{logits, graph.add_input(tensor_names::labels, {DType::i32, rows})};
  if (chosen.mixed || chosen.weighted) inputs.insert(inputs.end(), {no_value, no_value});
  if (chosen.mixed) {
    inputs[SoftmaxCrossEntropy::mixup_labels] = graph.add_input(tensor_names::mixup_labels, {DType::i32, rows});
    inputs[SoftmaxCrossEntropy::mixup_lambda] = graph.add_input(tensor_names::mixup_lambda, {DType::f32, Shape{1}});
  }
  if (chosen.weighted) inputs.push_back(graph.add_input(tensor_names::class_weights, {DType::f32, Shape{shape[-1]}}));
  const auto op = std::make_shared<SoftmaxCrossEntropy>(chosen.label_smoothing);
  return {{"cross_entropy", graph.add(tensor_names::loss, op, std::move(inputs))}};
}

std::vector<MetricInfo> Classification::metrics(std::int64_t classes) const {
  return ClassificationMetrics::infos(classes, order());
}

std::unique_ptr<Metrics> Classification::make_metrics(std::int64_t classes,
                                                      const std::vector<std::string>& names) const {
  return std::make_unique<ClassificationMetrics>(classes, names, order());
}

Batch Classification::answers(Batch scores) const {
  const HostTensor& logits = scores.at(tensor_names::logits);
  const std::int64_t rows = logits.rows();
  HostTensor probabilities(DType::f32, logits.shape());
  for (std::int64_t row = 0; row < rows; ++row) {
    std::ranges::copy(to_probabilities(logits.row<float>(row)), probabilities.row<float>(row).begin());
  }
  scores.add({tensor_names::probabilities, DType::f32, Shape{logits.row_count()}}) = std::move(probabilities);
  return scores;
}

std::vector<std::string> Classification::columns(const PredictionOptions& form) const {
  std::vector<std::string> columns;
  for (std::size_t i = 1; i <= std::min(form.top, form.class_names.size()); ++i) {
    columns.push_back(fmt::format("class{}", i));
    columns.push_back(fmt::format("probability{}", i));
  }
  return columns;
}

namespace {

Prediction make_prediction(std::span<const float> probabilities, std::optional<std::int32_t> label,
                           const PredictionOptions& form) {
  const auto name = [&](std::int32_t index) { return form.class_names.at(static_cast<std::size_t>(index)); };
  const auto probability = [&](std::int32_t index) { return double{probabilities[static_cast<std::size_t>(index)]}; };
  const std::vector<RankedClass> ranked = rank_classes(probabilities, std::max<std::size_t>(1, form.top));
  const std::int32_t best = ranked.front().index;
  Prediction made;
  made.answer = name(best);
  made.probability = probability(best);
  if (label) {
    made.label = name(*label);
    made.label_probability = probability(*label);
    made.error = *label == best ? 0 : *made.probability;
  }
  made.details = {{"classes", Prediction::Json::array()}};
  for (const RankedClass& one : ranked) {
    made.details["classes"].push_back(
        {{"name", name(one.index)}, {"index", one.index}, {"probability", one.probability}});
    made.text += fmt::format("{}{} {:.4f}", made.text.empty() ? "" : ", ", name(one.index), one.probability);
    made.cells.push_back(name(one.index));
    made.cells.push_back(fmt::format("{:.6g}", one.probability));
  }
  return made;
}

}  // namespace

std::vector<Prediction> Classification::predictions(const Batch& batch, const Batch& scores,
                                                    const PredictionOptions& form) const {
  const HostTensor& logits = scores.at(tensor_names::logits);
  std::vector<Prediction> all;
  for (std::int64_t row = 0; row < batch.count; ++row) {
    const std::vector<float> probabilities = to_probabilities(logits.row<float>(row));
    all.push_back(make_prediction(probabilities, find_label(batch, row, probabilities), form));
    all.back().index = index_of_row(batch, row);
  }
  return all;
}

std::vector<float> Classification::to_probabilities(std::span<const float> logits) const { return softmax(logits); }

std::optional<std::int32_t> Classification::find_label(const Batch& batch, std::int64_t row,
                                                       std::span<const float> /*probabilities*/) const {
  const HostTensor* const labels = batch.find(tensor_names::labels);
  if (labels == nullptr || labels->row<std::int32_t>(row)[0] < 0) return std::nullopt;
  return labels->row<std::int32_t>(row)[0];
}

std::vector<RankedClass> rank_classes(std::span<const float> probabilities, std::size_t top) {
  std::vector<std::int32_t> order(probabilities.size());
  std::iota(order.begin(), order.end(), 0);
  const auto probability = [&](std::int32_t index) { return probabilities[static_cast<std::size_t>(index)]; };
  const auto likelier = [&](std::int32_t a, std::int32_t b) {
    return probability(a) != probability(b) ? probability(a) > probability(b) : a < b;
  };
  const std::size_t count = std::min(top, order.size());
  std::partial_sort(order.begin(), order.begin() + static_cast<std::ptrdiff_t>(count), order.end(), likelier);
  std::vector<RankedClass> ranked;
  for (std::size_t i = 0; i < count; ++i) ranked.push_back({order[i], probability(order[i])});
  return ranked;
}

std::vector<float> softmax(std::span<const float> logits) {
  const float most = *std::max_element(logits.begin(), logits.end());
  std::vector<float> probabilities;
  double sum = 0;
  for (const float logit : logits) {
    probabilities.push_back(std::exp(logit - most));
    sum += static_cast<double>(probabilities.back());
  }
  for (float& value : probabilities) value = static_cast<float>(static_cast<double>(value) / sum);
  return probabilities;
}

}  // namespace ptrain

#include "core/tasks/language_model/language_model.h"

#include "core/config/config.h"
#include "core/data/tensor_names.h"
#include "core/ops/softmax_cross_entropy.h"
#include "core/tasks/language_model/language_model_metrics.h"

#include <fmt/format.h>

namespace ptrain {

void LanguageModel::check(const Config& config, const RejectKey& reject) const {
  const std::string& model = config.model.entry.name;
  if (config.model.classes > 1) {
    reject("model.classes", model + " predicts the next token of running text, which has no classes");
  }
  reject_class_keys(config.data, reject, fmt::format("is for classes, which {} does not have", model));
  if (config.output.predictions) {
    reject("output.predictions", fmt::format("lists samples with a label, which {} does not have", model));
  }
}

std::vector<Loss> LanguageModel::add_losses(Graph& graph, Mode mode) const {
  const ValueId logits = require_output(graph, tensor_names::logits);
  const Shape shape = graph.desc(logits).shape;
  const ValueId next = graph.add_input(tensor_names::next_tokens, {DType::i32, Shape{shape.count() / shape[-1]}});
  if (mode == Mode::evaluation) add_measures(graph, logits, next);
  const auto op = std::make_shared<SoftmaxCrossEntropy>(options(mode).label_smoothing);
  return {{"cross_entropy", graph.add(tensor_names::loss, op, {logits, next})}};
}

void LanguageModel::collate(Batch& batch) const {
  if (!batch.has(tensor_names::next_tokens)) {
    const std::int64_t length = batch.at(tensor_names::ids).row_count();
    batch.add({tensor_names::next_tokens, DType::i32, Shape{length}, ignored_label});
  }
  const HostTensor& ids = batch.at(tensor_names::ids);
  HostTensor& next = batch.at(tensor_names::next_tokens);
  next.fill_rows(0, ignored_label);
  const auto lengths = std::as_const(batch).values<std::int32_t>(tensor_names::lengths);
  for (std::int64_t row = 0; row < batch.count; ++row) {
    const auto length = static_cast<std::size_t>(lengths[static_cast<std::size_t>(row)]);
    std::ranges::copy(ids.row<std::int32_t>(row).subspan(1, length - 1), next.row<std::int32_t>(row).begin());
    if (!batch.has(tensor_names::learnt_tokens)) continue;
    const auto learnt = std::as_const(batch).at(tensor_names::learnt_tokens).row<std::int32_t>(row);
    const std::span<std::int32_t> targets = next.row<std::int32_t>(row);
    for (std::size_t i = 1; i < length; ++i) {
      if (learnt[i] == 0) targets[i - 1] = ignored_label;
    }
  }
}

std::vector<MetricInfo> LanguageModel::metrics(std::int64_t /*classes*/) const { return LanguageModelMetrics::infos(); }

std::unique_ptr<Metrics> LanguageModel::make_metrics(std::int64_t /*classes*/,
                                                     const std::vector<std::string>& /*names*/) const {
  return std::make_unique<LanguageModelMetrics>();
}

}  // namespace ptrain

#include "core/tasks/translation/translation.h"

#include "core/config/config.h"
#include "core/data/tensor_names.h"
#include "core/ops/softmax_cross_entropy.h"
#include "core/tasks/translation/translation_metrics.h"

#include <fmt/format.h>

namespace ptrain {

std::vector<std::string> TranslationTask::targets() const { return {tensor_names::next_tokens}; }

void TranslationTask::check(const Config& config, const RejectKey& reject) const {
  const std::string& model = config.model.entry.name;
  if (config.model.classes > 1)
    reject("model.classes", model + " predicts a translation's next token, without classes");
  reject_class_keys(config.data, reject, fmt::format("is for classes, which {} does not have", model));
  if (config.output.predictions) {
    reject("output.predictions", fmt::format("lists samples with a label, which {} does not have", model));
  }
}

std::vector<Loss> TranslationTask::add_losses(Graph& graph, Mode mode) const {
  const ValueId logits = require_output(graph, tensor_names::logits);
  const ValueId next = graph.add_input(tensor_names::next_tokens, {DType::i32, Shape{graph.desc(logits).shape[0]}});
  const auto op = std::make_shared<SoftmaxCrossEntropy>(options(mode).label_smoothing);
  return {{"cross_entropy", graph.add(tensor_names::loss, op, {logits, next})}};
}

std::vector<MetricInfo> TranslationTask::metrics(std::int64_t /*classes*/) const { return TranslationMetrics::infos(); }

std::unique_ptr<Metrics> TranslationTask::make_metrics(std::int64_t /*classes*/,
                                                       const std::vector<std::string>& /*names*/) const {
  return std::make_unique<TranslationMetrics>();
}

}  // namespace ptrain

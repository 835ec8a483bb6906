#include "core/tasks/multi_label/multi_label.h"

#include "core/config/config.h"
#include "core/ops/math/binary_cross_entropy_math.h"
#include "core/tasks/loss_builder.h"
#include "core/tasks/multi_label/multi_label_metrics.h"

namespace ptrain {

void MultiLabel::check(const Config& config, const RejectKey& reject) const {
  const std::string reason = config.model.entry.name + " learns several labels per sample";
  reject_class_keys(config.data, reject, reason);
  if (config.train.label_smoothing > 0) reject("train.label_smoothing", reason);
}

std::vector<Loss> MultiLabel::add_losses(Graph& graph, Mode /*mode*/) const {
  LossBuilder build(graph, "multi_label");
  const ValueId logits = build.output(tensor_names::logits);
  const ValueId labels = graph.add_input(tensor_names::multi_hot_labels, {DType::i32, build.shape(logits)});
  const auto classes = static_cast<float>(build.shape(logits)[-1]);
  const ValueId targets = build.weigh(labels, 1), weights = build.weigh(labels, 0);
  const ValueId terms = build.combine(BinaryFunction::sub, build.apply(UnaryFunction::softplus, logits),
                                      build.combine(BinaryFunction::mul, logits, targets));
  const ValueId samples = build.apply(UnaryFunction::affine, build.sum(weights), {1 / classes, 0});
  return {{"cross_entropy", build.mean(terms, weights, samples)}};
}

std::vector<MetricInfo> MultiLabel::metrics(std::int64_t /*classes*/) const { return MultiLabelMetrics::infos(); }

std::unique_ptr<Metrics> MultiLabel::make_metrics(std::int64_t /*classes*/,
                                                  const std::vector<std::string>& /*names*/) const {
  return std::make_unique<MultiLabelMetrics>();
}

std::vector<float> MultiLabel::to_probabilities(std::span<const float> logits) const {
  std::vector<float> probabilities;
  for (const float logit : logits) probabilities.push_back(logistic(logit));
  return probabilities;
}

std::optional<std::int32_t> MultiLabel::find_label(const Batch& batch, std::int64_t row,
                                                   std::span<const float> probabilities) const {
  const HostTensor* const labels = batch.find(tensor_names::multi_hot_labels);
  if (labels == nullptr) return std::nullopt;
  const auto marks = labels->row<std::int32_t>(row);
  std::optional<std::int32_t> best;
  for (std::size_t i = 0; i < marks.size(); ++i) {
    if (marks[i] <= 0) continue;
    if (!best || probabilities[i] > probabilities[static_cast<std::size_t>(*best)]) best = static_cast<std::int32_t>(i);
  }
  return best;
}

}  // namespace ptrain

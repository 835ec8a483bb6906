// Classification into several classes per sample, each by a logit of its own.
#pragma once

#include "core/tasks/classification/classification.h"

namespace ptrain {

class MultiLabel final : public Classification {
 public:
  using Classification::Classification;

  std::string_view name() const override { return "multi_label"; }
  std::vector<std::string> targets() const override { return {tensor_names::multi_hot_labels}; }
  void check(const Config& config, const RejectKey& reject) const override;
  /// Binary cross entropy of logits [N, classes] against multi_hot_labels [N, classes], summed over the classes; its
  /// mean over the samples that have labels.
  std::vector<Loss> add_losses(Graph& graph, Mode mode) const override;
  std::vector<MetricInfo> metrics(std::int64_t classes) const override;
  std::unique_ptr<Metrics> make_metrics(std::int64_t classes, const std::vector<std::string>& names) const override;

 protected:
  /// Of each class by itself: the logistic function.
  std::vector<float> to_probabilities(std::span<const float> logits) const override;
  /// The most likely one of the sample's classes.
  std::optional<std::int32_t> find_label(const Batch& batch, std::int64_t row,
                                         std::span<const float> probabilities) const override;
};

}  // namespace ptrain

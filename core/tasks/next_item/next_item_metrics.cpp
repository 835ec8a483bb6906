#include "core/tasks/next_item/next_item_metrics.h"

#include "core/data/tensor_names.h"

#include <cmath>

namespace ptrain {
namespace {

constexpr float cutoff = 20;

}  // namespace

std::vector<MetricInfo> NextItemMetrics::infos() {
  return {{"recall_at_20", "recall@20", "of 1", MetricKind::fraction, true,
           "fraction of next items that are among the twenty with the highest scores"},
          {"mrr_at_20", "MRR@20", "of 1", MetricKind::score, true,
           "mean of 1 / rank of the next items, 0 beyond the twentieth", MetricView::brief},
          loss_info()};
}

void NextItemMetrics::add_batch(const Batch& batch, std::optional<double> loss, const Batch& scores) {
  add_samples(batch.count);
  const auto ranks = scores.values<float>(tensor_names::target_ranks);
  const auto next = batch.values<std::int32_t>(tensor_names::next_tokens);
  const std::int64_t before = targets_;
  for (std::size_t i = 0; i < next.size(); ++i) {
    if (next[i] < 0) continue;
    ++targets_;
    if (!(ranks[i] >= 1 && ranks[i] <= cutoff)) continue;  // a score that is no number ranks 0
    ++found_;
    reciprocal_ranks_ += 1 / static_cast<double>(ranks[i]);
  }
  add_loss(loss, targets_ - before);
}

std::vector<double> NextItemMetrics::state() const {
  std::vector<double> state = CountedMetrics::state();
  state.insert(state.end(), {static_cast<double>(targets_), static_cast<double>(found_), reciprocal_ranks_});
  return state;
}

void NextItemMetrics::merge(std::span<const double> state) {
  CountedMetrics::merge(state);
  targets_ += std::llround(state[state_size]);
  found_ += std::llround(state[state_size + 1]);
  reciprocal_ranks_ += state[state_size + 2];
}

std::vector<MetricValue> NextItemMetrics::values() const {
  const std::vector<MetricInfo> all = infos();
  if (targets_ == 0) return {measured(all[0], {}), measured(all[1], {}), measured(all[2], {})};
  const auto targets = static_cast<double>(targets_);
  const double recall = static_cast<double>(found_) / targets;
  return {measured(all[0], recall, std::sqrt(recall * (1 - recall) / targets)),
          measured(all[1], reciprocal_ranks_ / targets), measured(all[2], known_loss())};
}

}  // namespace ptrain

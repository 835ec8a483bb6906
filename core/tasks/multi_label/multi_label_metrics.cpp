#include "core/tasks/multi_label/multi_label_metrics.h"

#include "core/data/tensor_names.h"
#include "core/ops/math/binary_cross_entropy_math.h"
#include "core/tasks/classification/classification.h"

#include <algorithm>
#include <cmath>
#include <limits>

namespace ptrain {
namespace {

constexpr std::size_t ranked_classes = 20;  // classes of a sample that GAP ranks
constexpr float lowest = -std::numeric_limits<float>::infinity();

}  // namespace

std::vector<MetricInfo> MultiLabelMetrics::infos() {
  return {{"gap", "GAP@20", "of 1", MetricKind::score, true,
           "global average precision: of the twenty best classes of every sample, ranked together"},
          {"hit_at_1", "Hit@1", "of 1", MetricKind::fraction, true,
           "fraction of samples whose most likely class is one of their labels"},
          {"perr", "PERR", "of 1", MetricKind::score, true,
           "mean precision of as many best classes as a sample has labels", MetricView::brief},
          loss_info()};
}

void MultiLabelMetrics::add_batch(const Batch& batch, std::optional<double> loss, const Batch& scores) {
  const HostTensor* const labels = batch.find(tensor_names::multi_hot_labels);
  add_loss(loss, batch.count);
  for (std::int64_t row = 0; labels != nullptr && row < batch.count; ++row) {
    if (labels->row<std::int32_t>(row)[0] >= 0) {
      add(scores.at(tensor_names::logits).row<float>(row), labels->row<std::int32_t>(row));
    }
  }
}

void MultiLabelMetrics::add(std::span<const float> logits, std::span<const std::int32_t> labels) {
  const auto count = static_cast<std::size_t>(std::ranges::count(labels, 1));
  std::vector<float> known(logits.begin(), logits.end());
  std::ranges::replace_if(
      known, [](float logit) { return std::isnan(logit); }, lowest);
  const std::vector<RankedClass> best = rank_classes(known, std::max(count, ranked_classes));
  const auto is_label = [&](const RankedClass& one) {
    return labels[static_cast<std::size_t>(one.index)] > 0 && one.probability > lowest;
  };
  std::int64_t found = 0;
  for (std::size_t i = 0; i < count; ++i) found += is_label(best[i]) && logistic(best[i].probability) > 0 ? 1 : 0;
  add_samples(1);
  hits_ += is_label(best.front()) ? 1 : 0;
  labels_ += static_cast<std::int64_t>(count);
  precisions_ += static_cast<double>(found) / static_cast<double>(count);
  for (std::size_t i = 0; i < std::min(ranked_classes, best.size()); ++i) {
    scored_.push_back({best[i].probability, is_label(best[i])});
  }
}

std::vector<double> MultiLabelMetrics::state() const {
  std::vector<double> state = CountedMetrics::state();
  state.insert(state.end(), {static_cast<double>(hits_), static_cast<double>(labels_), precisions_});
  state.reserve(state.size() + 2 * scored_.size());
  for (const Scored& one : scored_) {
    state.push_back(double{one.logit});
    state.push_back(one.is_label ? 1.0 : 0.0);
  }
  return state;
}

void MultiLabelMetrics::merge(std::span<const double> state) {
  CountedMetrics::merge(state);
  state = state.subspan(state_size);
  hits_ += std::llround(state[0]);
  labels_ += std::llround(state[1]);
  precisions_ += state[2];
  for (std::size_t i = 3; i + 1 < state.size(); i += 2) {
    scored_.push_back({static_cast<float>(state[i]), state[i + 1] > 0});
  }
}

double MultiLabelMetrics::average_precision() const {
  std::vector<Scored> sorted = scored_;
  std::ranges::sort(sorted, [](const Scored& a, const Scored& b) {
    return a.logit != b.logit ? a.logit > b.logit : a.is_label < b.is_label;
  });
  double sum = 0, found = 0;
  for (std::size_t i = 0; i < sorted.size(); ++i) {
    if (!sorted[i].is_label) continue;
    ++found;
    sum += found / static_cast<double>(i + 1);
  }
  return sum / static_cast<double>(labels_);
}

std::vector<MetricValue> MultiLabelMetrics::values() const {
  const std::vector<MetricInfo> all = infos();
  if (samples() == 0) return {measured(all[0], {}), measured(all[1], {}), measured(all[2], {}), measured(all[3], {})};
  const auto count = static_cast<double>(samples());
  const double hits = static_cast<double>(hits_) / count;
  return {measured(all[0], average_precision()), measured(all[1], hits, std::sqrt(hits * (1 - hits) / count)),
          measured(all[2], precisions_ / count), measured(all[3], known_loss())};
}

}  // namespace ptrain

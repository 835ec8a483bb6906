#include "core/tasks/regression/regression_metrics.h"

#include "core/data/tensor_names.h"

#include <algorithm>
#include <cmath>
#include <numeric>

namespace ptrain {
namespace {

/// None where all x or all y are equal, or one is not finite.
std::optional<double> pearson(const std::vector<double>& x, const std::vector<double>& y) {
  const auto count = static_cast<double>(x.size());
  const double mean_x = std::accumulate(x.begin(), x.end(), 0.0) / count;
  const double mean_y = std::accumulate(y.begin(), y.end(), 0.0) / count;
  double xx = 0, yy = 0, xy = 0;
  for (std::size_t i = 0; i < x.size(); ++i) {
    const double dx = x[i] - mean_x, dy = y[i] - mean_y;
    xx += dx * dx;
    yy += dy * dy;
    xy += dx * dy;
  }
  const double result = xy / std::sqrt(xx) / std::sqrt(yy);
  return std::isfinite(result) ? std::optional(std::clamp(result, -1.0, 1.0)) : std::nullopt;
}

/// Ranks from 1 on; equal values share their mean rank. All NaN if a value is NaN.
std::vector<double> assign_ranks(const std::vector<double>& values) {
  if (std::any_of(values.begin(), values.end(), [](double value) { return std::isnan(value); })) return values;
  std::vector<std::size_t> order(values.size());
  std::iota(order.begin(), order.end(), std::size_t{0});
  std::sort(order.begin(), order.end(), [&](std::size_t a, std::size_t b) { return values[a] < values[b]; });
  std::vector<double> ranks(values.size());
  for (std::size_t begin = 0, end = 0; begin < order.size(); begin = end) {
    while (end < order.size() && values[order[end]] == values[order[begin]]) ++end;
    for (std::size_t i = begin; i < end; ++i) ranks[order[i]] = static_cast<double>(begin + 1 + end) / 2;
  }
  return ranks;
}

/// Fisher's standard error of a correlation of `samples` pairs, on the correlation's own scale.
std::optional<double> correlation_error(std::optional<double> correlation, std::int64_t samples) {
  if (!correlation || samples < 4) return std::nullopt;
  const double centre = std::atanh(std::clamp(*correlation, -1 + 1e-12, 1 - 1e-12));
  const double error = 1 / std::sqrt(static_cast<double>(samples - 3));
  return (std::tanh(centre + error) - std::tanh(centre - error)) / 2;
}

}  // namespace

std::vector<MetricInfo> RegressionMetrics::infos() {
  return {{"pearson", "Pearson", "", MetricKind::score, true, "Pearson correlation of predictions and labels, -1 to 1"},
          {"spearman", "Spearman", "", MetricKind::score, true, "Spearman's rank correlation, ties by their mean rank",
           MetricView::brief},
          {"mse", "MSE", "", MetricKind::amount, false, "mean squared error"},
          loss_info()};
}

void RegressionMetrics::add(std::span<const float> values, std::span<const float> labels) {
  values_.insert(values_.end(), values.begin(), values.end());
  labels_.insert(labels_.end(), labels.begin(), labels.end());
}

void RegressionMetrics::add_batch(const Batch& batch, std::optional<double> /*loss*/, const Batch& scores) {
  if (!batch.has(tensor_names::values)) return;
  const auto values = scores.values<float>(tensor_names::logits), labels = batch.values<float>(tensor_names::values);
  for (std::size_t row = 0; row < static_cast<std::size_t>(batch.count); ++row) {
    if (!std::isnan(labels[row])) add(values.subspan(row, 1), labels.subspan(row, 1));
  }
}

std::vector<double> RegressionMetrics::state() const {
  std::vector<double> state = values_;
  state.insert(state.end(), labels_.begin(), labels_.end());
  return state;
}

void RegressionMetrics::merge(std::span<const double> state) {
  const auto half = state.begin() + static_cast<std::ptrdiff_t>(state.size() / 2);
  values_.insert(values_.end(), state.begin(), half);
  labels_.insert(labels_.end(), half, state.end());
}

std::optional<double> RegressionMetrics::mean_squared_error() const {
  if (values_.empty()) return std::nullopt;
  double squares = 0;
  for (std::size_t i = 0; i < values_.size(); ++i) squares += (values_[i] - labels_[i]) * (values_[i] - labels_[i]);
  return squares / static_cast<double>(values_.size());
}

std::vector<MetricValue> RegressionMetrics::values() const {
  const std::vector<MetricInfo> all = infos();
  std::optional<double> linear, by_rank;
  if (!values_.empty()) {
    linear = pearson(values_, labels_);
    by_rank = pearson(assign_ranks(values_), assign_ranks(labels_));
  }
  const std::optional<double> squared = mean_squared_error();
  return {measured(all[0], linear, correlation_error(linear, samples())),
          measured(all[1], by_rank, correlation_error(by_rank, samples())), measured(all[2], squared),
          measured(all[3], squared)};
}

}  // namespace ptrain

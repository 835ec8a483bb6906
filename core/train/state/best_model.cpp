#include "core/train/state/best_model.h"

#include <fmt/ranges.h>

#include <cmath>

namespace ptrain {

const MetricValue& find_metric(const EvalResult& result, const std::string& name) {
  const Evaluation& evaluation = result.evaluation;
  const MetricValue* found = name == primary_metric ? evaluation.primary() : evaluation.find(name);
  if (found == nullptr) {
    const std::vector<MetricInfo> measured(evaluation.metrics.begin(), evaluation.metrics.end());
    fail("no {} was measured, but {}", name, fmt::join(metric_names(measured), ", "));
  }
  return *found;
}

void BestModel::compare_by(const MetricInfo& metric) {
  metric_ = metric.name;
  if (record_) record_->metric = metric.name;
}

bool BestModel::add(const EvalResult& result) {
  const MetricValue& metric = find_metric(result, metric_);
  const double value = metric.value.value_or(std::nan(""));
  const bool better = std::isfinite(value) && (!record_ || metric.is_better(value, record_->value));
  since_ = better ? 0 : since_ + 1;
  if (better) record_ = BestReport{metric.name, value, result.step, result.epoch, folder().string()};
  return better;
}

BestModel::State BestModel::state() const {
  const BestReport best = record_.value_or(BestReport{});
  return {record_ ? 1.0 : 0.0, best.value, static_cast<double>(best.step), static_cast<double>(best.epoch),
          static_cast<double>(since_)};
}

void BestModel::restore(const State& state) {
  const auto [known, value, step, epoch, since] = state;
  record_.reset();
  since_ = std::llround(since);
  if (known == 0) return;
  record_ = BestReport{metric_, value, std::llround(step), std::llround(epoch), folder().string()};
}

}  // namespace ptrain

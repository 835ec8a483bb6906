// Tracks the best evaluation of a run by one metric, keeps its weights, and counts evaluations since.
#pragma once

#include "core/config/metric_names.h"
#include "core/report/figures.h"
#include "core/train/evaluator.h"

#include <array>
#include <filesystem>
#include <functional>
#include <optional>
#include <string>

namespace ptrain {

/// The metric of that name, or the primary one. Throws Error{failed} naming the measured metrics.
const MetricValue& find_metric(const EvalResult& result, const std::string& name);

class BestModel {
 public:
  /// Its state in a checkpoint: whether there is one, its value, step and epoch, evaluations since.
  using State = std::array<double, 5>;

  /// By output.keep_best, with train.patience, in `folder`: that of its weights and other files for deployment.
  BestModel(std::string metric, std::int64_t patience, std::filesystem::path folder)
      : wanted_(metric != no_metric), metric_(std::move(metric)), patience_(patience), folder_(std::move(folder)) {}

  /// Sets the metric of output.keep_best.
  void compare_by(const MetricInfo& metric);

  bool wanted() const { return wanted_; }
  /// Whether `result` is better than all before it; a metric that is absent or not finite never is.
  bool add(const EvalResult& result);
  /// Whether train.patience evaluations in a row brought no improvement.
  bool out_of_patience() const { return patience_ > 0 && since_ >= patience_; }

  State state() const;
  void restore(const State& state);
  /// None before the first evaluation.
  const std::optional<BestReport>& record() const { return record_; }

  const std::filesystem::path& folder() const { return folder_; }

 private:
  bool wanted_;
  std::string metric_;
  std::int64_t patience_;
  std::filesystem::path folder_;
  std::optional<BestReport> record_;
  std::int64_t since_ = 0;
};

}  // namespace ptrain

// Tracks the best evaluation of a run by one metric, keeps its weights, and counts evaluations since.
#pragma once

#include "core/config/config.h"
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

  explicit BestModel(const Config& config) : config_(config), metric_(config.output.keep_best) {}

  /// Sets the metric of output.keep_best.
  void compare_by(const MetricInfo& metric);

  bool wanted() const { return config_.output.keep_best != no_metric; }
  /// Whether `result` is better than all before it; a metric that is absent or not finite never is.
  bool add(const EvalResult& result);
  /// Whether train.patience evaluations in a row brought no improvement.
  bool out_of_patience() const { return config_.train.patience > 0 && since_ >= config_.train.patience; }

  State state() const;
  void restore(const State& state);
  /// None before the first evaluation.
  const std::optional<BestReport>& record() const { return record_; }

  /// The folder of its weights and of the other files for deployment.
  std::filesystem::path folder() const;

 private:
  const Config& config_;
  std::string metric_;
  std::optional<BestReport> record_;
  std::int64_t since_ = 0;
};

}  // namespace ptrain

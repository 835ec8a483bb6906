// The best of a run's evaluations by one metric, whose weights are kept, and how many have passed since.
#pragma once

#include "core/config/config.h"
#include "core/report/figures.h"
#include "core/train/evaluator.h"

#include <array>
#include <filesystem>
#include <functional>
#include <optional>

namespace ptrain {

/// `metric` is not none.
double metric_of(const EvalResult& result, BestMetric metric);
/// Whether `value` is better than `other`; one that is not a number never is.
bool is_better(BestMetric metric, double value, double other);

class BestModel {
 public:
  /// What of it a checkpoint holds: whether there is one, its value, step and epoch, evaluations since.
  using State = std::array<double, 5>;

  explicit BestModel(const Config& config) : config_(config) {}

  bool wanted() const { return config_.output.keep_best != BestMetric::none; }
  /// Whether `result` is better than all before it; a metric that is not finite never is.
  bool add(const EvalResult& result);
  /// As many evaluations as train.patience bears have brought nothing better.
  bool out_of_patience() const { return config_.train.patience > 0 && since_ >= config_.train.patience; }

  State state() const;
  void restore(const State& state);
  /// None before the first evaluation.
  const std::optional<BestReport>& record() const { return record_; }

  /// Where its weights and what a deployed model needs beside them lie.
  std::filesystem::path folder() const;

 private:
  const Config& config_;
  std::optional<BestReport> record_;
  std::int64_t since_ = 0;
};

/// Puts what `write` writes into an empty folder in the place of `folder`, whole or not at all. Throws Error{failed}.
void replace_folder(const std::filesystem::path& folder,
                    const std::function<void(const std::filesystem::path&)>& write);

}  // namespace ptrain

// The number of queries needed to show that a percentile of latency holds, by MLPerf Inference's early stopping: with
// `over` of n queries above a bound, the fraction below it is at least the percentile with 99 % confidence if
// P[Binomial(n, 1 - percentile) <= over] <= 0.01 (MLCommons, inference policies, "Early stopping"; Clopper and Pearson,
// "The use of confidence or fiducial limits", 1934).
#pragma once

#include "core/report/fields.h"

#include <cstdint>
#include <span>

namespace ptrain {

inline constexpr double early_stopping_confidence = 0.99;

/// The fewest queries, including `over` above a bound, that show that the percentile lies below it.
std::int64_t least_queries(std::int64_t over, double percentile);

/// The largest number of `queries` that may lie above the bound; -1 if there are too few to show anything.
std::int64_t most_over(std::int64_t queries, double percentile);

/// `early_stopping` of a report.
struct EarlyStopping {
  double percentile = 0, confidence = early_stopping_confidence;
  std::int64_t queries = 0, least = 0;
  std::optional<std::int64_t> over;
  std::optional<double> estimate_ms;
  bool met = false;

  void describe(Fields& field);
};

/// Without a bound: the estimated percentile is the most_over-th highest latency.
EarlyStopping estimate_percentile(std::span<const double> latencies_ms, double percentile);

/// With a bound that `over` of `queries` exceeded.
EarlyStopping hold_percentile(std::int64_t over, std::int64_t queries, double percentile);

}  // namespace ptrain

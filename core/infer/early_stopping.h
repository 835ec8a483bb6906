// How many queries it takes to say of a percentile of latency that it holds, by MLPerf Inference's early stopping: with
// `over` of n queries above a bound, the part below it is at least the percentile at 99 % confidence where
// P[Binomial(n, 1 - percentile) <= over] <= 0.01 (MLCommons, inference policies, "Early stopping"; Clopper and Pearson,
// "The use of confidence or fiducial limits", 1934).
#pragma once

#include "core/report/fields.h"

#include <cstdint>
#include <span>

namespace ptrain {

inline constexpr double early_stopping_confidence = 0.99;

/// The fewest queries, those above counted, among which `over` above a bound show that the percentile lies below it.
std::int64_t least_queries(std::int64_t over, double percentile);

/// Of `queries`, how many may lie above; -1 where they are too few to show anything.
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

/// Where no bound is given: the latency that so many queries show to hold the percentile, the most_over-th highest.
EarlyStopping estimate_percentile(std::span<const double> latencies_ms, double percentile);

/// Where `over` of `queries` lay above a bound.
EarlyStopping hold_percentile(std::int64_t over, std::int64_t queries, double percentile);

}  // namespace ptrain

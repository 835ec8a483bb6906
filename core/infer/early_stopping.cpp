#include "core/infer/early_stopping.h"

#include "core/report/statistics.h"

#include <algorithm>
#include <cmath>
#include <functional>
#include <vector>

namespace ptrain {

void EarlyStopping::describe(Fields& field) {
  field("percentile", percentile, "percentile of latency, 0 to 1");
  field("confidence", confidence, "confidence that the percentile holds, by the binomial distribution");
  field("queries", queries, "number of queries answered");
  field("least", least,
        "queries required: with `over` of them above the bound, or with one above where no bound is given");
  field("over", over, "queries above the bound; null: no bound");
  field("estimate_ms", estimate_ms, "upper estimate of the percentile; null: a bound is given, or too few queries");
  field("met", met, "whether the queries suffice");
}

std::int64_t most_over(std::int64_t queries, double percentile) {
  const auto n = static_cast<double>(queries);
  const double over = std::log1p(-percentile), under = std::log(percentile);
  double below = 0;  // P[X <= k - 1]
  for (std::int64_t k = 0; k <= queries; ++k) {
    const auto t = static_cast<double>(k);
    below += std::exp(log_choose(queries, k) + t * over + (n - t) * under);
    if (below > 1 - early_stopping_confidence) return k - 1;
  }
  return queries;
}

std::int64_t least_queries(std::int64_t over, double percentile) {
  std::int64_t few = over, enough = over + 1;
  while (most_over(enough, percentile) < over) few = enough, enough *= 2;
  while (enough - few > 1) {
    const std::int64_t middle = few + (enough - few) / 2;
    (most_over(middle, percentile) < over ? few : enough) = middle;
  }
  return enough;
}

EarlyStopping estimate_percentile(std::span<const double> latencies_ms, double percentile) {
  EarlyStopping found;
  found.percentile = percentile;
  found.queries = static_cast<std::int64_t>(latencies_ms.size());
  found.least = least_queries(1, percentile);
  found.met = found.queries >= found.least;
  if (!found.met) return found;
  std::vector<double> sorted(latencies_ms.begin(), latencies_ms.end());
  const auto at = sorted.begin() + most_over(found.queries, percentile) - 1;
  std::nth_element(sorted.begin(), at, sorted.end(), std::greater<>());
  found.estimate_ms = *at;
  return found;
}

EarlyStopping hold_percentile(std::int64_t over, std::int64_t queries, double percentile) {
  EarlyStopping found;
  found.percentile = percentile;
  found.queries = queries;
  found.least = least_queries(over, percentile);
  found.over = over;
  found.met = queries >= found.least;
  return found;
}

}  // namespace ptrain

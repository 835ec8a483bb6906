#include "core/analysis/intervals.h"

#include "core/report/statistics.h"

#include <algorithm>
#include <cmath>
#include <vector>

namespace ptrain {
namespace {

/// Above these sizes the normal approximation of the rank statistics is off by at most a rank or two.
constexpr std::size_t exact_pairs = 60;
constexpr std::size_t exact_of_each = 25;
/// Fraction of the tail for Student's interval of two to five skewed values that keeps its coverage: with all of it, 95
/// % became 91 on recorded step times (tests/trust/cover.py).
constexpr double skewed_tail = 0.4;

/// Largest k with P(statistic <= k) <= tail, -1 for none; `probabilities` of 0, 1, ...
std::int64_t find_lower_cut(const std::vector<double>& probabilities, double tail) {
  double sum = 0;
  for (std::size_t k = 0; k < probabilities.size(); ++k) {
    sum += probabilities[k];
    if (sum > tail * (1 + 1e-12)) return static_cast<std::int64_t>(k) - 1;
  }
  return -1;
}

/// Largest k for a statistic that is nearly normal.
std::int64_t find_normal_cut(double mean, double deviation, double tail) {
  return static_cast<std::int64_t>(std::floor(mean - normal_quantile(1 - tail) * deviation - 0.5));
}

/// Distribution of the sum of the positive ranks, of n ranks with random signs.
std::vector<double> compute_signed_rank_probabilities(std::size_t n) {
  std::vector<double> p(n * (n + 1) / 2 + 1, 0.0);
  p[0] = 1;
  for (std::size_t rank = 1; rank <= n; ++rank) {
    for (std::size_t sum = p.size(); sum-- > 0;) p[sum] = 0.5 * (p[sum] + (sum >= rank ? p[sum - rank] : 0.0));
  }
  return p;
}

/// Distribution of Mann-Whitney's U for m and n values, by recurrence over the side of the largest value: with
/// probability m / (m + n) it is on the first side, and exceeds all n of the second.
std::vector<double> compute_rank_sum_probabilities(std::size_t m, std::size_t n) {
  std::vector<std::vector<std::vector<double>>> p(m + 1, std::vector<std::vector<double>>(n + 1));
  for (std::size_t i = 0; i <= m; ++i) {
    for (std::size_t j = 0; j <= n; ++j) {
      std::vector<double>& here = p[i][j];
      here.assign(i * j + 1, 0.0);
      if (i == 0 || j == 0) {
        here[0] = 1;
        continue;
      }
      const double first = static_cast<double>(i) / static_cast<double>(i + j);
      for (std::size_t u = 0; u < p[i - 1][j].size(); ++u) here[u + j] += first * p[i - 1][j][u];
      for (std::size_t u = 0; u < p[i][j - 1].size(); ++u) here[u] += (1 - first) * p[i][j - 1][u];
    }
  }
  return p[m][n];
}

std::int64_t find_signed_rank_cut(std::size_t n, double tail) {
  if (n <= exact_pairs) return find_lower_cut(compute_signed_rank_probabilities(n), tail);
  const auto count = static_cast<double>(n);
  return find_normal_cut(count * (count + 1) / 4, std::sqrt(count * (count + 1) * (2 * count + 1) / 24), tail);
}

std::int64_t find_rank_sum_cut(std::size_t m, std::size_t n, double tail) {
  if (std::max(m, n) <= exact_of_each) return find_lower_cut(compute_rank_sum_probabilities(m, n), tail);
  const auto a = static_cast<double>(m), b = static_cast<double>(n);
  return find_normal_cut(a * b / 2, std::sqrt(a * b * (a + b + 1) / 12), tail);
}

Interval make_percentile_interval(std::vector<double> differences, std::int64_t cut) {
  Interval interval;
  if (differences.empty()) return interval;
  std::sort(differences.begin(), differences.end());
  const std::size_t skipped = cut < 0 ? 0 : static_cast<std::size_t>(cut);
  interval.estimate = quantile(differences, 0.5);
  interval.lower = differences[skipped];
  interval.upper = differences[differences.size() - 1 - skipped];
  interval.bounded = cut >= 0;
  return interval;
}

}  // namespace

void Interval::describe_bounds(Fields& field, const char* lower_help) {
  std::optional<double> low, high;
  if (bounded) {
    low = lower;
    high = upper;
  }
  field.any_sign("estimate", estimate, "");
  field.any_sign("lower", low, lower_help);
  field.any_sign("upper", high, "");
}

Interval in_percent(const Interval& logs) {
  return {100 * std::expm1(logs.estimate), 100 * std::expm1(logs.lower), 100 * std::expm1(logs.upper), logs.bounded};
}

Interval signed_rank_interval(std::span<const double> values, double confidence) {
  std::vector<double> means;
  for (std::size_t i = 0; i < values.size(); ++i) {
    for (std::size_t j = i; j < values.size(); ++j) means.push_back((values[i] + values[j]) / 2);
  }
  return make_percentile_interval(std::move(means), find_signed_rank_cut(values.size(), (1 - confidence) / 2));
}

Interval rank_sum_interval(std::span<const double> base, std::span<const double> changed, double confidence) {
  std::vector<double> differences;
  for (const double b : base) {
    for (const double c : changed) differences.push_back(c - b);
  }
  return make_percentile_interval(std::move(differences),
                                  find_rank_sum_cut(base.size(), changed.size(), (1 - confidence) / 2));
}

Interval centre_interval(std::span<const double> values, double confidence) {
  Interval interval = signed_rank_interval(values, confidence);
  if (interval.bounded || values.size() < 2) return interval;
  const Statistics known = summarize(values);
  const double reach = student_quantile(1 - skewed_tail * (1 - confidence) / 2, known.count - 1) * known.stdev /
                       std::sqrt(static_cast<double>(known.count));
  interval.lower = std::min(known.mean - reach, interval.estimate);
  interval.upper = std::max(known.mean + reach, interval.estimate);
  interval.bounded = true;
  return interval;
}

double counting_error(double part, std::int64_t samples) {
  const double n = static_cast<double>(std::max<std::int64_t>(samples, 0)) + 4;
  const double centre = (part * (n - 4) + 2) / n;
  return std::max(0.0, centre * (1 - centre)) / n;  // of a fraction above 1, which a broken report has, too
}

std::int64_t fewest_pairs(double confidence) {
  std::size_t n = 1;
  while (find_signed_rank_cut(n, (1 - confidence) / 2) < 0) ++n;
  return static_cast<std::int64_t>(n);
}

std::int64_t fewest_of_each(double confidence) {
  std::size_t n = 1;
  while (find_rank_sum_cut(n, n, (1 - confidence) / 2) < 0) ++n;
  return static_cast<std::int64_t>(n);
}

}  // namespace ptrain

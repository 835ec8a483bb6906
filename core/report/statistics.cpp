#include "core/report/statistics.h"

#include <algorithm>
#include <cmath>
#include <numbers>
#include <vector>

namespace ptrain {
namespace {

double percentile(const std::vector<double>& sorted, double part) {
  const double rank = part * static_cast<double>(sorted.size() - 1);
  const auto below = static_cast<std::size_t>(rank);
  const std::size_t above = std::min(below + 1, sorted.size() - 1);
  return sorted[below] + (rank - static_cast<double>(below)) * (sorted[above] - sorted[below]);
}

}  // namespace

Statistics summarize(std::span<const double> values) {
  Statistics result;
  result.count = static_cast<std::int64_t>(values.size());
  if (values.empty()) return result;
  std::vector<double> sorted(values.begin(), values.end());
  std::sort(sorted.begin(), sorted.end());
  double sum = 0;
  for (const double v : sorted) sum += v;
  result.mean = sum / static_cast<double>(sorted.size());
  double squares = 0;
  for (const double v : sorted) squares += (v - result.mean) * (v - result.mean);
  if (sorted.size() > 1) result.stdev = std::sqrt(squares / static_cast<double>(sorted.size() - 1));
  result.p50 = percentile(sorted, 0.50);
  result.p90 = percentile(sorted, 0.90);
  result.p95 = percentile(sorted, 0.95);
  result.p99 = percentile(sorted, 0.99);
  return result;
}

double quantile(std::span<const double> values, double part) {
  if (values.empty()) return 0;
  std::vector<double> sorted(values.begin(), values.end());
  std::sort(sorted.begin(), sorted.end());
  return percentile(sorted, part);
}

double log_choose(std::int64_t n, std::int64_t k) {
  const auto all = static_cast<double>(n), chosen = static_cast<double>(k);
  return std::lgamma(all + 1) - std::lgamma(chosen + 1) - std::lgamma(all - chosen + 1);
}

double normal_quantile(double p) {
  double low = -40, high = 40;
  while (high - low > 1e-10) {
    const double middle = (low + high) / 2;
    (0.5 * std::erfc(-middle / std::sqrt(2.0)) < p ? low : high) = middle;
  }
  return (low + high) / 2;
}

double student_quantile(double p, std::int64_t freedom) {
  const auto inside = [freedom](double angle) {  // P(|t| < sqrt(freedom) tan(angle))
    const double cosine = std::cos(angle);
    const bool odd = freedom % 2 == 1;
    double term = odd ? cosine : 1, sum = 0;
    for (std::int64_t k = odd ? 1 : 0; k <= freedom - 2; k += 2) {
      sum += term;
      term *= cosine * cosine * static_cast<double>(k + 1) / static_cast<double>(k + 2);
    }
    return odd ? 2 / std::numbers::pi * (angle + std::sin(angle) * sum) : std::sin(angle) * sum;
  };
  double low = 0, high = std::numbers::pi / 2;
  for (int i = 0; i < 60; ++i) {
    const double middle = (low + high) / 2;
    (inside(middle) < 2 * p - 1 ? low : high) = middle;
  }
  return std::sqrt(static_cast<double>(freedom)) * std::tan(low);
}

}  // namespace ptrain

#include "core/analysis/history/change_points.h"

#include "core/report/statistics.h"

#include <algorithm>
#include <cmath>
#include <random>

namespace ptrain {
namespace {

constexpr std::uint64_t permutation_seed = 1;
constexpr double fewest_permutations = 999;
constexpr double permutations_per_chance = 20;              // resolution of a p-value near the significance
constexpr double outlier_deviations = 3 * deviation_scale;  // median absolute deviations

struct Split {
  double distance = 0;
  std::size_t at = 0;
};

double compute_distances(double value, std::span<const double> others) {
  double sum = 0;
  for (const double other : others) sum += std::abs(value - other);
  return sum;
}

/// The two sides' weighted energy distance is mn / (m + n) (2 E|X - Y| - E|X - X'| - E|Y - Y'|).
Split find_widest_split(std::span<const double> values) {
  double left = 0, right = 0, all = 0;  // sums over pairs
  for (std::size_t i = 1; i < values.size(); ++i) all += compute_distances(values[i], values.first(i));
  right = all;
  Split widest;
  for (std::size_t at = 1; at < values.size(); ++at) {
    const double moved = values[at - 1];
    left += compute_distances(moved, values.first(at - 1));
    right -= compute_distances(moved, values.subspan(at));
    const auto m = static_cast<double>(at), n = static_cast<double>(values.size() - at);
    const double energy = 2 * (all - left - right) / (m * n) - 2 * left / (m * m) - 2 * right / (n * n);
    const double distance = m * n / (m + n) * energy;
    if (distance > widest.distance) widest = {distance, at};
  }
  return widest;
}

std::vector<double> clip_outliers(std::span<const double> values) {
  const double middle = quantile(values, 0.5);
  std::vector<double> deviations;
  for (const double value : values) deviations.push_back(std::abs(value - middle));
  const double reach = outlier_deviations * quantile(deviations, 0.5);
  std::vector<double> kept(values.begin(), values.end());
  if (reach == 0) return kept;  // most are equal: no scale for outliers
  for (double& value : kept) value = std::clamp(value, middle - reach, middle + reach);
  return kept;
}

/// Fraction of random orders that split as widely as `split`; 1 as soon as it must exceed `significance`.
double compute_permutation_p(std::vector<double> values, const Split& split, double significance) {
  const double permutations = std::max(fewest_permutations, std::ceil(permutations_per_chance / significance) - 1);
  std::mt19937_64 random(permutation_seed);
  double as_wide = 1;
  for (double done = 0; done < permutations; ++done) {
    for (std::size_t i = values.size(); i > 1; --i) std::swap(values[i - 1], values[random() % i]);
    if (find_widest_split(values).distance >= split.distance * (1 - 1e-9)) ++as_wide;
    if (as_wide > significance * (permutations + 1)) return 1;
  }
  return as_wide / (permutations + 1);
}

void search(std::span<const double> values, std::size_t offset, double significance, std::vector<ChangePoint>& found) {
  if (static_cast<std::int64_t>(values.size()) < fewest_points(significance)) return;
  const std::vector<double> kept = clip_outliers(values);
  const Split split = find_widest_split(kept);
  if (split.at == 0) return;
  const double p = compute_permutation_p(kept, split, significance);
  if (p > significance) return;
  search(values.first(split.at), offset, significance, found);
  found.push_back({offset + split.at, p});
  search(values.subspan(split.at), offset + split.at, significance, found);
}

/// Number of ways to choose `part` of `count`.
double count_combinations(std::int64_t count, std::int64_t part) {
  double ways = 1;
  for (std::int64_t i = 1; i <= part; ++i) ways *= static_cast<double>(count - part + i) / static_cast<double>(i);
  return ways;
}

/// Only a clean step's own order and its mirror image split equally widely.
bool can_be_significant(std::int64_t count, std::int64_t part, double significance) {
  return 2 / count_combinations(count, part) <= significance;
}

}  // namespace

std::vector<ChangePoint> find_change_points(std::span<const double> values, double significance) {
  std::vector<ChangePoint> found;
  search(values, 0, significance, found);
  return found;
}

std::int64_t fewest_points(double significance) {
  std::int64_t count = 2;
  while (!can_be_significant(count, count / 2, significance)) ++count;
  return count;
}

std::int64_t fewest_points_after(std::int64_t count, double significance) {
  for (std::int64_t part = 1; part <= count / 2; ++part) {
    if (can_be_significant(count, part, significance)) return part;
  }
  return 0;
}

}  // namespace ptrain

#include "core/analysis/published.h"

#include "core/analysis/quality.h"
#include "core/analysis/speed.h"
#include "core/base/counted.h"
#include "core/report/statistics.h"

#include <array>
#include <cmath>
#include <set>

namespace ptrain {
namespace {

constexpr double power = 0.8;
constexpr double two_sided = (1 + interval_confidence) / 2;

/// Standard deviation of the difference of two means over seeds, in that of one seed.
double compute_difference_scale(std::int64_t seeds, std::int64_t published_seeds) {
  return std::sqrt(1 / static_cast<double>(seeds) + 1 / static_cast<double>(published_seeds));
}

}  // namespace

std::string_view to_string(Agreement agreement) {
  constexpr std::array<std::string_view, 4> names = {"within", "below", "above", "unknown"};
  return names.at(static_cast<std::size_t>(agreement));
}

double find_detectable_difference(std::int64_t seeds, std::int64_t published_seeds) {
  return (student_quantile(two_sided, seeds - 1) + student_quantile(power, seeds - 1)) *
         compute_difference_scale(seeds, published_seeds);
}

PublishedComparison compare_with_published(const std::vector<const MeasuredRun*>& runs,
                                           const PublishedValue& published) {
  std::vector<const MeasuredRun*> of_seeds;
  std::set<std::int64_t> seeds;
  for (const MeasuredRun* run : runs) {
    if (find_primary_metric(*run) != nullptr && seeds.insert(run->record.seed).second) of_seeds.push_back(run);
  }
  PublishedComparison result;
  const Quality quality = measure_quality(of_seeds);
  if (!quality.metric) return result;
  result.metric = quality.metric;
  result.seeds = static_cast<std::int64_t>(quality.values.size());
  result.mean = result.lower = result.upper = quality.mean();
  result.stdev = quality.stdev();
  if (result.seeds < 2) return result;
  const double reach = student_quantile(two_sided, result.seeds - 1) * result.stdev *
                       compute_difference_scale(result.seeds, published.seeds);
  result.lower -= reach;
  result.upper += reach;
  result.detectable = result.stdev * find_detectable_difference(result.seeds, published.seeds);
  result.agreement = published.value > result.upper   ? Agreement::below
                     : published.value < result.lower ? Agreement::above
                                                      : Agreement::within;
  return result;
}

std::string published_text(const PublishedComparison& comparison, const PublishedValue& published) {
  if (!comparison.metric) return fmt::format("published {:g}: no run was evaluated", published.value);
  const auto text = [&](double value) { return comparison.metric->value_text(value); };
  if (comparison.agreement == Agreement::unknown) {
    return fmt::format("{} of one seed; published {}: two seeds or more are compared with it", text(comparison.mean),
                       text(published.value));
  }
  return fmt::format(
      "{} ± {} over {}; published {}: {} (agrees from {} to {}; a difference of {} is found in 80 % of "
      "cases)",
      text(comparison.mean), text(comparison.stdev), counted(comparison.seeds, "seed"), text(published.value),
      to_string(comparison.agreement), text(comparison.lower), text(comparison.upper), text(comparison.detectable));
}

}  // namespace ptrain

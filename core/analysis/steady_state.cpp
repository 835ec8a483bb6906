#include "core/analysis/steady_state.h"

#include "core/report/statistics.h"

#include <fmt/format.h>

#include <algorithm>
#include <cmath>
#include <vector>

namespace ptrain {
namespace {

/// Ratio of the standard errors of median and mean, for a normal distribution.
constexpr double median_error = 1.2533;

double compute_spread(std::span<const double> values, double centre) {
  std::vector<double> distances;
  for (const double v : values) distances.push_back(std::abs(v - centre));
  return deviation_scale * quantile(distances, 0.5);
}

/// Least distance at which a logarithm is clipped: a factor of 1.5, or six deviations of a noisier run.
constexpr double least_reach = 0.405;

/// Logarithms, clipped around the second half's median.
std::vector<double> clip_logarithms(std::span<const double> step_ms) {
  std::vector<double> logs;
  for (const double ms : step_ms) logs.push_back(std::log(std::max(ms, 1e-9)));
  const auto late = std::span(logs).subspan(logs.size() / 2);
  const double centre = quantile(late, 0.5);
  const double reach = std::max(6 * compute_spread(late, centre), least_reach);
  for (double& v : logs) v = std::clamp(v, centre - reach, centre + reach);
  return logs;
}

/// The start in [0, bound] of the part with the smallest variance over its squared length (MSER's statistic).
std::int64_t find_best_truncation(const std::vector<double>& values, std::int64_t bound) {
  const auto size = static_cast<std::int64_t>(values.size());
  double sum = 0, squares = 0, best = INFINITY;
  std::int64_t start = 0;
  for (std::int64_t i = size - 1; i >= 0; --i) {
    const double v = values[static_cast<std::size_t>(i)] - values.back();
    sum += v;
    squares += v * v;
    const auto count = static_cast<double>(size - i);
    const double error = std::max(0.0, squares - sum * sum / count) / (count * count);
    if (i <= bound && error <= best) {
      best = error;
      start = i;
    }
  }
  return start;
}

}  // namespace

SteadyState find_steady_state(std::span<const double> step_ms, const SteadyRule& rule) {
  SteadyState state;
  const auto size = static_cast<std::int64_t>(step_ms.size());
  if (size < fewest_steps) {
    state.reason =
        fmt::format("{} steps are too few to detect the end of the warm-up (at least {})", size, fewest_steps);
    return state;
  }
  const std::int64_t half = size / 2;
  const std::int64_t bound = rule.most_warmup_steps > 0 ? std::min(rule.most_warmup_steps, half) : half;
  const std::vector<double> logs = clip_logarithms(step_ms);
  state.warmup_steps = find_best_truncation(logs, bound);

  const auto rest = std::span(logs).subspan(static_cast<std::size_t>(state.warmup_steps));
  const auto first = rest.first(rest.size() / 2), second = rest.subspan(rest.size() / 2);
  const double before = quantile(first, 0.5), after = quantile(second, 0.5);
  state.drift_percent = std::expm1(after - before) * 100;
  const double noise =
      median_error * std::hypot(compute_spread(first, before) / std::sqrt(static_cast<double>(first.size())),
                                compute_spread(second, after) / std::sqrt(static_cast<double>(second.size())));
  const bool drifts = std::abs(state.drift_percent) > rule.drift_percent && std::abs(after - before) > 3 * noise;
  if (rule.required && state.warmup_steps == bound) {
    state.reason = fmt::format("the warm-up had not ended by step {} of {}", bound, size);
  } else if (rule.required && drifts) {
    state.reason = fmt::format("step times drift by {:+.1f} % within the run", state.drift_percent);
  }
  state.reached = state.reason.empty();
  return state;
}

}  // namespace ptrain

#include "core/analysis/verdict.h"

#include "core/base/counted.h"
#include "core/report/statistics.h"

#include <fmt/format.h>

#include <algorithm>
#include <array>
#include <cmath>

namespace ptrain {
namespace {

constexpr double stall_confidence = 0.99;

Verdict decide_verdict(const Interval& percent, double threshold) {
  if (!percent.bounded) return Verdict::inconclusive;
  if (percent.lower > 0 && percent.estimate > threshold) return Verdict::slower;
  if (percent.upper < 0 && percent.estimate < -threshold) return Verdict::faster;
  if (percent.lower > -threshold && percent.upper < threshold) return Verdict::same;
  return Verdict::inconclusive;
}

/// Number of further runs that bring the interval's half width to where the present estimate would decide; without an
/// interval, those it needs.
std::int64_t estimate_runs_to_decide(const SpeedChange& change, double threshold, std::int64_t fewest) {
  if (!change.percent.bounded) return std::max<std::int64_t>(1, fewest - change.runs);
  const double distance = std::abs(change.percent.estimate);
  const double wanted = std::max(distance > threshold ? distance : threshold - distance, threshold / 4);
  const double ratio = change.percent.half_width() / wanted;
  const auto needed =
      std::max(fewest, static_cast<std::int64_t>(std::ceil(static_cast<double>(change.runs) * ratio * ratio)));
  return std::max<std::int64_t>(1, needed - change.runs);
}

/// Change of the total time of all steps of all runs, as a fraction of the base's, and its standard error.
struct TotalChange {
  double part = 0, error = 0;
  std::int64_t freedom = 0;
};

Statistics summarize_times(const std::vector<double>& logs) {
  std::vector<double> times;
  for (const double log : logs) times.push_back(std::exp(log));
  return summarize(times);
}

double compute_relative_variance(const Statistics& times) {
  return times.stdev * times.stdev / (times.mean * times.mean * static_cast<double>(times.count));
}

TotalChange compute_total_change(const Statistics& base, const Statistics& changed) {
  const double ratio = changed.mean / base.mean;
  return {ratio - 1, ratio * std::sqrt(compute_relative_variance(base) + compute_relative_variance(changed)),
          std::min(base.count, changed.count) - 1};
}

/// Whether a few slow runs make the typical step unrepresentative: the total time is probably longer by more than the
/// threshold, and much longer than the typical step suggests.
bool has_stalled_runs(const TotalChange& total, const SpeedChange& change, double threshold) {
  constexpr double much = 0.1, probably = 0.8;
  if (total.freedom < 1 || total.part < change.percent.estimate / 100 + much) return false;
  return total.part - student_quantile(probably, total.freedom) * total.error > threshold / 100;
}

void conclude(SpeedChange& change, const TotalChange& total, const SpeedRule& rule, std::int64_t fewest) {
  change.verdict = decide_verdict(change.percent, rule.threshold_percent);
  const bool stalls = decide_verdict(change.stalls, rule.threshold_percent) == Verdict::slower;
  if (stalls && change.verdict != Verdict::slower) {
    change.verdict = Verdict::slower;
    change.reason = fmt::format("the mean step is {:+.1f} %, the typical one {:+.1f} %: some steps stall",
                                change.stalls.estimate, change.percent.estimate);
  }
  const bool passes = change.verdict == Verdict::same || change.verdict == Verdict::faster;
  const bool stalls_at_times = passes && has_stalled_runs(total, change, rule.threshold_percent);
  if (stalls_at_times) change.verdict = Verdict::inconclusive;
  if (change.verdict != Verdict::inconclusive) return;
  change.more_runs = estimate_runs_to_decide(change, rule.threshold_percent, fewest);
  change.reason = fmt::format("about {} more{} would decide", counted(change.more_runs, change.paired ? "pair" : "run"),
                              change.paired ? "" : " of each");
  if (!change.percent.bounded) {
    change.reason = fmt::format("too few for an interval: {}; {}", counted(change.runs, change.paired ? "pair" : "run"),
                                change.reason);
  }
  if (stalls_at_times) {
    change.reason = fmt::format("all steps together take {:+.1f} %, the typical one {:+.1f} %: some runs stall; {}",
                                100 * total.part, change.percent.estimate, change.reason);
  }
}

/// Shift between the first and second half of a series.
double compute_drift(const std::vector<double>& values) {
  const auto all = std::span(values);
  const std::size_t half = values.size() / 2;
  return half == 0 ? 0 : quantile(all.subspan(half), 0.5) - quantile(all.first(half), 0.5);
}

Interval widen_interval(Interval interval, double by) {
  interval.lower -= by;
  interval.upper += by;
  return interval;
}

}  // namespace

std::string_view to_string(Verdict verdict) {
  constexpr std::array<std::string_view, 4> names = {"SAME", "FASTER", "SLOWER", "INCONCLUSIVE"};
  return names.at(static_cast<std::size_t>(verdict));
}

std::string describe_shortage(std::int64_t runs) {
  const double confidence = SpeedRule{}.confidence;
  const std::int64_t of_each = fewest_of_each(confidence), pairs = fewest_pairs(confidence);
  const std::string few =
      fmt::format("{} of each case {}", counted(runs, "run"), runs == 1 ? "is too few" : "are too few");
  const std::string needed = fmt::format("{} to compare two sweeps, {} to compare cases of one", of_each, pairs);
  if (runs < 2) return fmt::format("{} for an interval (2) and for a verdict ({})", few, needed);
  if (runs < of_each) return fmt::format("{} for a verdict ({})", few, needed);
  if (runs < pairs) return fmt::format("{} for a verdict between cases of one sweep ({})", few, pairs);
  return {};
}

SpeedChange test_paired_change(const StepLogs& changes, const SpeedRule& rule) {
  SpeedChange change;
  change.paired = true;
  change.runs = static_cast<std::int64_t>(changes.typical.size());
  change.percent = in_percent(signed_rank_interval(changes.typical, rule.confidence));
  change.stalls = in_percent(signed_rank_interval(changes.mean, stall_confidence));
  const std::vector<double> unchanged(changes.mean.size(), 0);
  conclude(change, compute_total_change(summarize_times(unchanged), summarize_times(changes.mean)), rule,
           fewest_pairs(rule.confidence));
  return change;
}

SpeedChange test_group_change(const StepLogs& base, const StepLogs& changed, const SpeedRule& rule) {
  SpeedChange change;
  change.runs = static_cast<std::int64_t>(std::min(base.typical.size(), changed.typical.size()));
  const double unsteady = std::hypot(compute_drift(base.typical), compute_drift(changed.typical)) / 2;
  const double unsteady_mean = std::hypot(compute_drift(base.mean), compute_drift(changed.mean)) / 2;
  change.percent =
      in_percent(widen_interval(rank_sum_interval(base.typical, changed.typical, rule.confidence), unsteady));
  change.stalls =
      in_percent(widen_interval(rank_sum_interval(base.mean, changed.mean, stall_confidence), unsteady_mean));
  conclude(change, compute_total_change(summarize_times(base.mean), summarize_times(changed.mean)), rule,
           fewest_of_each(rule.confidence));
  return change;
}

}  // namespace ptrain

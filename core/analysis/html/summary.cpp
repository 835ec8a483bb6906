#include "core/analysis/html/summary.h"

#include "core/analysis/effects/effects.h"
#include "core/analysis/run_list.h"
#include "core/analysis/speed.h"
#include "core/base/counted.h"

#include <fmt/format.h>
#include <fmt/ranges.h>

#include <algorithm>
#include <cmath>

namespace ptrain::html {
namespace {

std::string name_response(const EffectsReport& report, Response response) {
  return response == Response::accuracy && report.metric ? report.metric->title : std::string(to_string(response));
}

/// "level: O0 -> O1 changes throughput by +42.1 % (+40.2 to +44.0)"
std::string describe_effect(const EffectsReport& report, const Effect& effect) {
  const Interval& interval = effect.interval;
  return fmt::format(
      "{} changes {} by {:+.1f} {} ({:+.1f} to {:+.1f})", fmt::join(effect.changes, " × "),
      effect.response == Response::accuracy && report.metric ? report.metric->title : to_string(effect.response),
      interval.estimate, effect.unit, interval.lower, interval.upper);
}

/// The largest clear effect of one change on a response; null: none is clear.
const Effect* find_largest(const EffectsReport& report, Response response) {
  const Effect* largest = nullptr;
  for (const Effect& effect : report.effects) {
    if (effect.response != response || effect.changes.size() != 1 || !is_clear(effect)) continue;
    if (largest == nullptr || std::abs(effect.interval.estimate) > std::abs(largest->interval.estimate)) {
      largest = &effect;
    }
  }
  return largest;
}

bool has_effects_on(const EffectsReport& report, Response response) {
  return std::ranges::any_of(report.effects, [&](const Effect& effect) { return effect.response == response; });
}

std::string sum_up_effects(const EffectsReport& report) {
  std::vector<std::string> clear, unclear;
  for (const Response response : {Response::throughput, Response::accuracy}) {
    if (const Effect* largest = find_largest(report, response)) {
      clear.push_back(describe_effect(report, *largest));
    } else if (has_effects_on(report, response)) {
      unclear.push_back(name_response(report, response));
    }
  }
  if (!unclear.empty()) {
    clear.push_back(
        fmt::format("{} change has a clear effect on {}", clear.empty() ? "No" : "no", fmt::join(unclear, " or on ")));
  }
  return clear.empty() ? "" : fmt::format("{}.", fmt::join(clear, "; "));
}

/// "O1 is the fastest of 3 cases, at 113.8 images/s ±1.2 %."
std::string find_fastest(std::span<const RunSet> sets) {
  const SpeedEstimator estimator = speed_estimator(sets);
  const MeasuredCase* fastest = nullptr;
  double best = 0;
  std::size_t count = 0;
  std::string unit;
  for (const RunSet& set : sets) {
    for (const MeasuredCase& item : set.cases) {
      const std::vector<const MeasuredRun*> good = item.good();
      if (good.empty()) continue;
      if (count++ > 0 && good.front()->record.figures->unit != unit) return "";  // images and sequences
      unit = good.front()->record.figures->unit;
      const double speed = speed_interval(good, estimator).estimate;
      if (speed > best) best = speed, fastest = &item;
    }
  }
  if (count < 2) return "";
  const Interval speed = speed_interval(fastest->good(), estimator);
  return fmt::format("{} is the fastest of {}, at {:.1f} {}{}.", fastest->name, counted(count, "case"), speed.estimate,
                     unit, reach_text(speed));
}

}  // namespace

std::string sum_up_run(const Report& report) {
  const std::string work = fmt::format("{} on {}", report.model.name, data_name(report));
  if (report.status != RunStatus::ok) {
    return fmt::format("{}: {} after {} of {} steps: {}", work, to_string(report.status), report.progress.steps,
                       report.progress.planned_steps, report.message);
  }
  const MetricValue* metric = report.evaluation ? report.evaluation->primary() : nullptr;
  std::string text = fmt::format("{}: {}after {}", work, metric == nullptr ? "" : metric->text() + " ",
                                 counted(report.progress.steps, "step"));
  if (report.throughput) text += fmt::format(", at {:.4g} {}", report.throughput->value, report.throughput->unit);
  text += fmt::format(" in {}", precision_text(report.amp));
  if (report.time_to_accuracy) {
    const TargetReport& target = *report.time_to_accuracy;
    const MetricValue* aimed = report.evaluation ? report.evaluation->find(target.metric) : nullptr;
    text += fmt::format("; {} {:g} was {}", aimed == nullptr ? target.metric : aimed->title, target.target,
                        target.seconds ? fmt::format("reached after {:.1f} s", *target.seconds) : "not reached");
  }
  return text + ".";
}

std::string sum_up_sets(std::span<const RunSet> sets) {
  const auto good = [](const MeasuredCase& item) { return !item.good().empty(); };
  if (sets.size() == 1 && sets[0].suite && std::ranges::count_if(sets[0].cases, good) > 1) {
    return sum_up_effects(find_effects(sets[0]));
  }
  return find_fastest(sets);
}

}  // namespace ptrain::html

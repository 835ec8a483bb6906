#include "core/analysis/compare.h"

#include "core/analysis/failures.h"
#include "core/analysis/quality.h"
#include "core/report/statistics.h"

#include <algorithm>
#include <array>
#include <cmath>
#include <map>

namespace ptrain {
namespace {

using Runs = std::vector<const MeasuredRun*>;

/// Logarithm of the time per sample of each run.
StepLogs collect_step_logs(const Runs& runs, SpeedEstimator estimator) {
  StepLogs logs;
  for (const MeasuredRun* run : runs) {
    const RunFigures& figures = *run->record.figures;
    logs.typical.push_back(-std::log(estimate_speed(figures, estimator)));
    logs.mean.push_back(std::log(figures.seconds / static_cast<double>(figures.samples)));
  }
  return logs;
}

/// Returns the estimator that the runs of both sides allow.
SpeedEstimator choose_estimator(const Runs& base, const Runs& changed) {
  return std::max(speed_estimator(base), speed_estimator(changed));
}

/// Whether two records describe the same run.
bool is_same_run(const RunRecord& a, const RunRecord& b) {
  return a.started == b.started && a.wall_seconds == b.wall_seconds && a.config_hash == b.config_hash &&
         a.figures->typical_step_ms == b.figures->typical_step_ms;
}

/// Runs in `changed` that are not also in `base`.
Runs select_new_runs(const Runs& base, Runs changed) {
  std::erase_if(changed, [&](const MeasuredRun* run) {
    return std::any_of(base.begin(), base.end(),
                       [&](const MeasuredRun* other) { return is_same_run(other->record, run->record); });
  });
  return changed;
}

std::optional<SideFigures> make_side_figures(const Runs& runs, SpeedEstimator estimator) {
  if (runs.empty()) return std::nullopt;
  const Interval speed = speed_interval(runs, estimator);
  SideFigures side;
  side.speed = speed.estimate;
  side.unit = runs.front()->record.figures->unit;
  side.runs = static_cast<std::int64_t>(runs.size());
  if (speed.bounded) {
    side.lower = speed.lower;
    side.upper = speed.upper;
  }
  for (const MeasuredRun* run : runs) side.started.add(run->record.started);
  return side;
}

/// Runs of the same round of the same sweep, base and changed.
std::pair<Runs, Runs> find_interleaved_pairs(const Runs& base, const Runs& changed) {
  std::pair<Runs, Runs> pairs;
  for (const MeasuredRun* before : base) {
    for (const MeasuredRun* after : changed) {
      const RunRecord &a = before->record, &b = after->record;
      if (a.sweep.empty() || a.sweep != b.sweep || a.repeat != b.repeat) continue;
      pairs.first.push_back(before);
      pairs.second.push_back(after);
    }
  }
  return pairs;
}

StepLogs subtract(StepLogs changed, const StepLogs& base) {
  for (std::size_t i = 0; i < base.typical.size(); ++i) {
    changed.typical[i] -= base.typical[i];
    changed.mean[i] -= base.mean[i];
  }
  return changed;
}

SpeedChange test_speed_change(const Runs& base, const Runs& changed, SpeedEstimator estimator, const SpeedRule& rule) {
  const auto [first, second] = find_interleaved_pairs(base, changed);
  if (!first.empty())
    return test_paired_change(subtract(collect_step_logs(second, estimator), collect_step_logs(first, estimator)),
                              rule);
  return test_group_change(collect_step_logs(base, estimator), collect_step_logs(changed, estimator), rule);
}

std::optional<double> compute_memory_change(const Runs& base, const Runs& changed) {
  std::array<double, 2> bytes{};
  for (const MeasuredRun* run : base) bytes[0] += static_cast<double>(run->record.figures->memory_bytes);
  for (const MeasuredRun* run : changed) bytes[1] += static_cast<double>(run->record.figures->memory_bytes);
  if (bytes[0] <= 0 || bytes[1] <= 0) return std::nullopt;
  return 100 * (bytes[1] / static_cast<double>(changed.size()) / (bytes[0] / static_cast<double>(base.size())) - 1);
}

bool are_equal_throughout(const Quality& a, const Quality& b) {
  const auto same = [&](double value) { return value == a.values.front(); };
  return std::all_of(a.values.begin(), a.values.end(), same) && std::all_of(b.values.begin(), b.values.end(), same);
}

/// How many runs have a value of that metric.
std::size_t count_measured(const Runs& runs, const std::string& name) {
  return static_cast<std::size_t>(std::ranges::count_if(runs, [&](const MeasuredRun* run) {
    const std::optional<Evaluation>& evaluation = run->record.figures->evaluation;
    const MetricValue* metric = evaluation ? evaluation->find(name) : nullptr;
    return metric != nullptr && metric->value;
  }));
}

/// The first metric that a smaller share of the changed runs has than of base: what a mean over the others says is of
/// the runs that went well. Empty: none.
std::string explain_lost_metric(const Runs& base, const Runs& changed) {
  for (const MeasuredRun* run : base) {
    if (!run->record.figures->evaluation) continue;
    for (const MetricValue& metric : run->record.figures->evaluation->metrics) {
      const std::size_t before = count_measured(base, metric.name), after = count_measured(changed, metric.name);
      if (after * base.size() >= before * changed.size()) continue;
      if (after == 0) return fmt::format("not comparable: {} was measured on base only", metric.name);
      return fmt::format("not comparable: {} was measured in {} of {} runs of new, in {} of {} of base", metric.name,
                         after, changed.size(), before, base.size());
    }
  }
  return {};
}

/// Why the two cannot be compared; empty: they can.
std::string explain_incomparable(const Quality& before, const Quality& after, const Runs& base, const Runs& changed) {
  for (const Quality* side : {&before, &after}) {
    if (!side->others.empty()) {
      return fmt::format("not comparable: the primary metric of one case is {} in some runs, {} in others",
                         side->metric->name, side->others);
    }
  }
  if (!before.metric) return fmt::format("not comparable: {} was measured on new only", after.metric->name);
  if (!after.metric) return fmt::format("not comparable: {} was measured on base only", before.metric->name);
  if (before.metric->name != after.metric->name) {
    return fmt::format("not comparable: the primary metric of base is {}, that of new is {}", before.metric->name,
                       after.metric->name);
  }
  return explain_lost_metric(base, changed);
}

/// Half the width of the interval of the change; absent where there is no estimate of the error.
std::optional<double> compute_margin_of_error(const Quality& before, const Quality& after) {
  const bool counted = before.metric->kind == MetricKind::fraction;
  const std::int64_t samples = std::min(before.eval_samples, after.eval_samples);
  if (are_equal_throughout(before, after)) return counted ? 1 - std::pow(0.025, 1 / static_cast<double>(samples)) : 0.0;
  const auto freedom = static_cast<std::int64_t>(before.values.size() + after.values.size()) - 2;
  const bool own = before.own_variance && after.own_variance;
  if (freedom == 0 && !own) return std::nullopt;
  const double runs = std::sqrt(before.run_variance + after.run_variance);
  const double of_samples = own ? std::sqrt(*before.own_variance + *after.own_variance) : 0;
  return std::hypot(freedom > 0 ? student_quantile(0.975, freedom) * runs : 0, normal_quantile(0.975) * of_samples);
}

/// Decides by the margin alone, for one run per side and a metric without an error of its own.
void decide_by_margin(AccuracyChange& change, double gain, double margin) {
  change.lower = change.upper = change.changed - change.base;
  change.verdict = gain < -margin ? AccuracyVerdict::worse
                   : gain >= 0    ? AccuracyVerdict::not_worse
                                  : AccuracyVerdict::inconclusive;
  if (change.verdict == AccuracyVerdict::not_worse) return;
  change.reason = fmt::format(
      "{} of one run per side has no error estimate: {} the margin of {:g}; several seeds (vary_seed) would give one",
      change.metric->title, change.verdict == AccuracyVerdict::worse ? "the loss exceeds" : "the loss is within",
      margin);
}

/// Takes the verdicts back, for a difference that is not accepted.
void refuse_verdict(CaseComparison& result) {
  result.refused = true;
  result.speed.verdict = Verdict::inconclusive;
  result.speed.more_runs = 0;
  result.speed.reason = "not comparable: see the differences listed; --allow hardware, config or data accepts them";
  if (result.accuracy.verdict != AccuracyVerdict::not_measured) {
    result.accuracy.verdict = AccuracyVerdict::inconclusive;
    result.accuracy.reason = "not comparable";
  }
}

/// Adds the machines of two benchmarks as a difference to cases whose runs left no reports that tell them apart.
void add_machine_difference(Comparison& comparison, const RunSet& base, const RunSet& changed) {
  if (!base.suite || !changed.suite || base.suite->machine.hash == changed.suite->machine.hash) return;
  for (CaseComparison& item : comparison.cases) {
    const bool known = std::any_of(item.differences.begin(), item.differences.end(),
                                   [](const Difference& d) { return d.kind == DifferenceKind::hardware; });
    if (known || !item.base || !item.changed) continue;
    item.differences.push_back(
        {DifferenceKind::hardware, "machine", base.suite->machine.name, changed.suite->machine.name});
    if (!comparison.rule.allows(DifferenceKind::hardware)) refuse_verdict(item);
  }
}

}  // namespace

std::string_view to_string(AccuracyVerdict verdict) {
  constexpr std::array<std::string_view, 4> names = {"not measured", "NOT WORSE", "WORSE", "INCONCLUSIVE"};
  return names.at(static_cast<std::size_t>(verdict));
}

AccuracyChange test_accuracy_change(const Runs& base, const Runs& changed, double margin) {
  const Quality before = measure_quality(base), after = measure_quality(changed);
  AccuracyChange change;
  if (!before.metric && !after.metric) return change;
  change.metric = (before.metric ? before : after).metric;
  if (before.metric) change.base = before.mean();
  if (after.metric) change.changed = after.mean();
  change.base_stdev = before.stdev();
  change.changed_stdev = after.stdev();
  change.verdict = AccuracyVerdict::inconclusive;
  change.reason = explain_incomparable(before, after, base, changed);
  if (!change.reason.empty()) return change;
  change.compared = true;
  const MetricInfo& metric = *before.metric;
  const double estimate = change.changed - change.base, sign = metric.higher_is_better ? 1 : -1;
  const double matters = metric.is_bounded() ? margin : margin * std::abs(change.base);
  const std::optional<double> reach = compute_margin_of_error(before, after);
  if (!reach) {
    decide_by_margin(change, sign * estimate, matters);
    return change;
  }
  change.bounded = true;
  change.lower = estimate - *reach;
  change.upper = estimate + *reach;
  if (sign * estimate - *reach > -matters) change.verdict = AccuracyVerdict::not_worse;
  if (sign * estimate + *reach < 0 && sign * estimate < -matters) change.verdict = AccuracyVerdict::worse;
  if (change.verdict == AccuracyVerdict::inconclusive) {
    change.reason = fmt::format(
        "{} evaluation samples cannot distinguish a loss of {:g} from none: more samples (eval.max_samples), or more "
        "seeds "
        "(vary_seed), would narrow the interval",
        std::min(before.eval_samples, after.eval_samples), matters);
  }
  return change;
}

std::optional<TargetChange> target_change(const Runs& base, const Runs& changed, double confidence) {
  const auto reached = [](const Runs& runs) {
    Runs found;
    std::copy_if(runs.begin(), runs.end(), std::back_inserter(found),
                 [](const MeasuredRun* run) { return run->record.figures->time_to_accuracy.has_value(); });
    return found;
  };
  const auto logs = [](const Runs& runs) {
    std::vector<double> values;
    for (const MeasuredRun* run : runs) values.push_back(std::log(*run->record.figures->time_to_accuracy));
    return values;
  };
  const Runs first = reached(base), second = reached(changed);
  if (first.empty() || second.empty()) return std::nullopt;
  TargetChange change;
  change.base = std::exp(quantile(logs(first), 0.5));
  change.changed = std::exp(quantile(logs(second), 0.5));
  change.missed = static_cast<std::int64_t>(base.size() + changed.size() - first.size() - second.size());
  const auto [before, after] = find_interleaved_pairs(first, second);
  std::vector<double> differences = logs(after);
  const std::vector<double> subtracted = logs(before);
  for (std::size_t i = 0; i < differences.size(); ++i) differences[i] -= subtracted[i];
  change.percent = in_percent(differences.empty() ? rank_sum_interval(logs(first), logs(second), confidence)
                                                  : centre_interval(differences, confidence));
  return change;
}

CaseComparison compare_cases(const MeasuredCase& base, const MeasuredCase& changed, const CompareRule& rule) {
  CaseComparison result;
  result.name = base.name == changed.name ? base.name : fmt::format("{} -> {}", base.name, changed.name);
  const Runs before = base.good(), all = changed.good(), after = select_new_runs(before, all);
  if (!before.empty() && !all.empty()) result.estimator = choose_estimator(before, all);
  result.base = make_side_figures(before, result.estimator);
  result.changed = make_side_figures(after.empty() ? all : after, result.estimator);
  result.base_runs = count_runs(base);
  result.changed_runs = count_runs(changed);
  if (before.empty() || all.empty()) {
    result.speed.reason =
        before.empty() ? "base: " + explain_no_good_run(base) : "new: " + explain_no_good_run(changed);
    return result;
  }
  if (after.empty()) {
    result.speed.reason = "both sides are the same runs: nothing was measured since (bench --fresh measures again)";
    return result;
  }
  const MeasuredRun *first = base.reported(), *second = changed.reported();
  if (first != nullptr && second != nullptr) result.differences = find_differences(*first->report, *second->report);
  result.refused = std::any_of(result.differences.begin(), result.differences.end(),
                               [&](const Difference& d) { return !rule.allows(d.kind); });
  if (result.base->unit != result.changed->unit) {
    result.refused = true;
    result.speed.reason =
        fmt::format("not comparable: base is measured in {}, new in {}", result.base->unit, result.changed->unit);
    return result;
  }
  const Runs ended_before = base.ended(), ended_after = select_new_runs(ended_before, changed.ended());
  result.memory_percent = compute_memory_change(ended_before, ended_after);
  result.speed = test_speed_change(before, after, result.estimator, rule.speed);
  result.accuracy = test_accuracy_change(ended_before, ended_after, rule.accuracy_margin);
  result.target = target_change(before, after, rule.speed.confidence);
  const bool passes = result.speed.verdict == Verdict::same || result.speed.verdict == Verdict::faster;
  if (passes && result.failures() != FailureVerdict::not_more) {
    result.speed.verdict = Verdict::inconclusive;
    result.speed.reason = "more runs fail than before, so that the others' speed decides nothing";
  }
  if (result.refused) refuse_verdict(result);
  return result;
}

Comparison compare(const RunSet& base, const RunSet& changed, const CompareRule& rule) {
  Comparison comparison{base.path.string(), changed.path.string(), rule, {}, base.left_out_notes()};
  const std::vector<std::string> left_out = changed.left_out_notes();
  comparison.notes.insert(comparison.notes.end(), left_out.begin(), left_out.end());
  if (base.cases.size() == 1 && changed.cases.size() == 1) {
    comparison.cases.push_back(compare_cases(base.cases.front(), changed.cases.front(), rule));
    add_machine_difference(comparison, base, changed);
    return comparison;
  }
  bool common = false;
  for (const MeasuredCase& item : base.cases) {
    const MeasuredCase* other = changed.find(item.name);
    common = common || other != nullptr;
    comparison.cases.push_back(compare_cases(item, other == nullptr ? MeasuredCase{item.name, {}} : *other, rule));
  }
  if (!common) {
    throw Error(ExitCode::inconclusive,
                fmt::format("{} and {} have no case in common", comparison.base, comparison.changed));
  }
  for (const MeasuredCase& item : changed.cases) {
    if (base.find(item.name) == nullptr) comparison.notes.push_back(item.name + ": only new has it: not compared");
  }
  add_machine_difference(comparison, base, changed);
  return comparison;
}

}  // namespace ptrain

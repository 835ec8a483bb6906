// Whether a second set of runs is as fast and as accurate as a first: a verdict per case, and one for all.
#pragma once

#include "core/analysis/environment_diff.h"
#include "core/analysis/run_set.h"
#include "core/analysis/verdict.h"
#include "core/base/errors.h"

#include <nlohmann/json.hpp>

#include <cstdint>
#include <optional>
#include <set>
#include <string>
#include <vector>

namespace ptrain {

enum class AccuracyVerdict { not_measured, not_worse, worse, inconclusive };
/// "not measured", "NOT WORSE", "WORSE", "INCONCLUSIVE"
std::string_view name_of(AccuracyVerdict verdict);

struct CompareRule {
  SpeedRule speed;
  double accuracy_margin = 0.01;     // loss of top-1 below it does not matter; 0.01 is one point
  std::set<DifferenceKind> allowed;  // kinds of difference that may be
};

struct AccuracyChange {
  AccuracyVerdict verdict = AccuracyVerdict::not_measured;
  double base = 0, changed = 0;  // mean top-1
  double lower = 0, upper = 0;   // 95 % interval of changed - base
  std::string reason;
};

struct CaseComparison {
  std::string name;
  SpeedChange speed;
  AccuracyChange accuracy;
  std::optional<double> memory_percent;  // change of the mean peak; absent without figures
  std::vector<Difference> differences;   // of the first good runs
  bool refused = false;                  // for a difference that is not allowed: no verdict
};

struct Comparison {
  std::string base, changed;  // as they were named
  CompareRule rule;
  std::vector<CaseComparison> cases;

  /// regressed when any case is slower or less accurate, else inconclusive when any is without a verdict, else ok.
  ExitCode outcome() const;
};

/// Accuracy is not worse when the interval of its change lies above -margin, worse when it lies below 0 and the
/// estimate past the margin. The interval is Welch's over runs with the evaluation's binomial error added; equal
/// figures in every run are no change.
AccuracyChange judge_accuracy(const std::vector<const MeasuredRun*>& base,
                              const std::vector<const MeasuredRun*>& changed, double margin);

/// One case against another, whatever their names.
CaseComparison compare_cases(const MeasuredCase& base, const MeasuredCase& changed, const CompareRule& rule);

/// Compares the cases that both have, by name; two sets of one case each are compared whatever their names. A case that
/// only the base has is inconclusive. Throws Error{inconclusive} when they have none in common.
Comparison compare(const RunSet& base, const RunSet& changed, const CompareRule& rule);

nlohmann::json to_json(const Comparison& comparison);
nlohmann::json comparison_schema();
std::string comparison_text(const Comparison& comparison);
std::string comparison_markdown(const Comparison& comparison);

}  // namespace ptrain

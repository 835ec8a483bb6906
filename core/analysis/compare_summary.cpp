// The verdict on a whole comparison, from those of its cases.
#include "core/analysis/compare.h"
#include "core/config/text.h"

#include <fmt/format.h>
#include <fmt/ranges.h>

#include <algorithm>
#include <map>

namespace ptrain {
namespace {

/// "too few repeats", or with counts where causes differ: "too few repeats (2), interval too wide (1)".
std::string format_causes(const std::vector<CaseComparison>& cases, const CompareRule& rule) {
  std::map<OpenCause, int> counts;
  for (const CaseComparison& item : cases) {
    if (item.verdict(rule) == GateVerdict::inconclusive) ++counts[item.open_cause()];
  }
  std::vector<std::string> parts;
  for (const auto& [cause, count] : counts) {
    parts.push_back(counts.size() == 1 ? std::string(to_string(cause))
                                       : fmt::format("{} ({})", to_string(cause), count));
  }
  return fmt::format("{}", fmt::join(parts, ", "));
}

}  // namespace

std::string_view to_string(GateVerdict verdict) {
  constexpr std::array<std::string_view, gate_verdicts> names = {"SLOWER",       "LESS ACCURATE", "MORE FAILURES",
                                                                 "INCONCLUSIVE", "FASTER",        "SAME"};
  return names.at(static_cast<std::size_t>(verdict));
}

std::string_view to_string(OpenCause cause) {
  constexpr std::array<std::string_view, 8> names = {"",
                                                     "not comparable",
                                                     "no good run",
                                                     "nothing was measured since",
                                                     "too few repeats",
                                                     "more runs fail",
                                                     "the interval is too wide",
                                                     "accuracy is undecided"};
  return names.at(static_cast<std::size_t>(cause));
}

OpenCause CaseComparison::open_cause() const {
  if (refused) return OpenCause::not_comparable;
  if (!base || !changed) return OpenCause::no_good_run;
  if (speed.runs == 0) return OpenCause::same_runs;
  if (failures() == FailureVerdict::more) return OpenCause::more_failures;
  if (speed.verdict == Verdict::inconclusive) {
    return speed.percent.bounded ? OpenCause::wide_interval : OpenCause::too_few_repeats;
  }
  return accuracy.verdict == AccuracyVerdict::inconclusive ? OpenCause::accuracy_undecided : OpenCause::none;
}

GateVerdict CaseComparison::verdict(const CompareRule& rule) const {
  const bool later = !refused && target && target->later(rule.speed.threshold_percent);
  if (later || speed.verdict == Verdict::slower) return GateVerdict::slower;
  if (accuracy.verdict == AccuracyVerdict::worse) return GateVerdict::less_accurate;
  if (failures() == FailureVerdict::clearly_more) return GateVerdict::fails_more;
  if (open_cause() != OpenCause::none) return GateVerdict::inconclusive;
  return speed.verdict == Verdict::faster ? GateVerdict::faster : GateVerdict::same;
}

std::array<std::int64_t, gate_verdicts> Comparison::count_verdicts() const {
  std::array<std::int64_t, gate_verdicts> counts{};
  for (const CaseComparison& item : cases) ++counts.at(static_cast<std::size_t>(item.verdict(rule)));
  return counts;
}

GateVerdict Comparison::verdict() const {
  GateVerdict overall = GateVerdict::same;
  for (const CaseComparison& item : cases) overall = std::min(overall, item.verdict(rule));
  return overall;
}

std::string Comparison::summary() const {
  const auto counts = count_verdicts();
  std::vector<std::string> parts;
  for (std::size_t i = 0; i < counts.size(); ++i) {
    if (counts.at(i) == 0) continue;
    const auto one = static_cast<GateVerdict>(i);
    const std::string of_all = parts.empty() ? fmt::format(" of {}", cases.size()) : "";
    parts.push_back(fmt::format("{}{} {}", counts.at(i), of_all, lower_case(to_string(one))));
    if (one == GateVerdict::inconclusive) parts.back() += ": " + format_causes(cases, rule);
  }
  return fmt::format("{}", fmt::join(parts, "; "));
}

ExitCode Comparison::outcome() const {
  switch (verdict()) {
    case GateVerdict::slower:
    case GateVerdict::less_accurate:
    case GateVerdict::fails_more:
      return ExitCode::regressed;
    case GateVerdict::inconclusive:
      return ExitCode::inconclusive;
    case GateVerdict::faster:
    case GateVerdict::same:
      break;
  }
  return ExitCode::ok;
}

}  // namespace ptrain

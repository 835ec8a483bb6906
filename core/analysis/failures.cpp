#include "core/analysis/failures.h"

#include "core/analysis/run_set.h"
#include "core/report/statistics.h"

#include <fmt/format.h>

#include <algorithm>
#include <cmath>

namespace ptrain {
namespace {

constexpr double chance_that_matters = 0.05, chance_of_one_rate = 0.2;

/// Probability of at least `changed.failed` failures among the new runs if failures are random.
double compute_p_value(const RunCounts& base, const RunCounts& changed) {
  const std::int64_t runs = base.runs + changed.runs, failed = base.failed + changed.failed;
  double chance = 0;
  for (std::int64_t k = changed.failed; k <= std::min(failed, changed.runs); ++k) {
    if (failed - k > base.runs) continue;
    chance += std::exp(log_choose(changed.runs, k) + log_choose(base.runs, failed - k) - log_choose(runs, failed));
  }
  return chance;
}

std::string format_side(const RunCounts& side, const char* name, std::int64_t part, const char* what) {
  return fmt::format("{} of {} {} runs {}", part, side.runs, name, what);
}

}  // namespace

RunCounts count_runs(const MeasuredCase& item) {
  RunCounts counts;
  for (const MeasuredRun& run : item.runs) {
    ++counts.runs;
    if (run.record.outcome == RunOutcome::ok) continue;
    if (run.record.outcome == RunOutcome::unstable) {
      ++counts.unsteady;
      continue;
    }
    ++counts.failed;
    if (!counts.example.empty()) continue;
    counts.example = to_string(run.record.outcome);
    if (!run.record.message.empty()) counts.example += ": " + run.record.message;
  }
  return counts;
}

std::string explain_no_good_run(const MeasuredCase& item) {
  const auto bad = std::ranges::find_if(
      item.runs, [](const MeasuredRun& run) { return run.record.outcome != RunOutcome::ok || !run.record.figures; });
  std::string why = "nothing was measured";
  if (item.runs.empty()) why = "was not run";
  if (bad != item.runs.end() && bad->record.outcome != RunOutcome::ok) {
    why = fmt::format("{}{}", to_string(bad->record.outcome),
                      bad->record.message.empty() ? "" : ": " + bad->record.message);
  }
  return fmt::format("no good run ({})", why);
}

RunCounts& operator+=(RunCounts& a, const RunCounts& b) {
  a.runs += b.runs;
  a.failed += b.failed;
  a.unsteady += b.unsteady;
  if (a.example.empty()) a.example = b.example;
  return a;
}

FailureVerdict test_failures(const RunCounts& base, const RunCounts& changed) {
  if (changed.failed * base.runs <= base.failed * changed.runs) return FailureVerdict::not_more;
  const double chance = compute_p_value(base, changed);
  if (chance < chance_that_matters) return FailureVerdict::clearly_more;
  const bool fits_one_rate = base.failed > 0 && chance >= chance_of_one_rate;
  return fits_one_rate ? FailureVerdict::not_more : FailureVerdict::more;
}

std::string failures_text(const RunCounts& base, const RunCounts& changed) {
  std::string text;
  if (base.failed + changed.failed > 0) {
    text = fmt::format("{}, {} ({})", format_side(changed, "new", changed.failed, "failed"),
                       format_side(base, "base", base.failed, "failed"),
                       changed.example.empty() ? base.example : changed.example);
  }
  if (base.unsteady + changed.unsteady > 0) {
    text += fmt::format("{}{}, {}: they have no speed", text.empty() ? "" : "; ",
                        format_side(changed, "new", changed.unsteady, "had unsteady step times"),
                        format_side(base, "base", base.unsteady, "had"));
  }
  return text;
}

}  // namespace ptrain

#include "core/analysis/effects/effects.h"

#include "core/base/errors.h"
#include "core/report/schema_check.h"
#include "tests/unit/analysis/example_factorial.h"

#include <gtest/gtest.h>

#include <algorithm>
#include <cmath>

namespace ptrain {
namespace {

const Effect& effect_on_throughput(const EffectsReport& report, std::size_t index) { return report.effects.at(index); }

TEST(Effects, FindTheFactorsThatWerePutIn) {
  const EffectsReport report = find_effects(factorial(0.5, 0.2, 0.1, 5, 1));
  // The mean of a change over the other axis: of logarithms, so the interaction counts half.
  EXPECT_NEAR(effect_on_throughput(report, 0).interval.estimate, 100 * (1.5 * std::sqrt(1.1) - 1), 2.5);
  EXPECT_NEAR(effect_on_throughput(report, 1).interval.estimate, 100 * (1.2 * std::sqrt(1.1) - 1), 2.0);
  EXPECT_NEAR(effect_on_throughput(report, 2).interval.estimate, 10, 3);
  EXPECT_EQ(effect_on_throughput(report, 2).changes.size(), 2u);
  EXPECT_GT(effect_on_throughput(report, 0).interval.lower, 0);
}

TEST(Effects, IntervalsCoverTheTruthAsOftenAsTheyClaim) {
  int covered = 0;
  constexpr int trials = 200;
  for (int t = 0; t < trials; ++t) {
    const Interval interval =
        find_effects(factorial(0.5, 0.2, 0, 4, static_cast<std::uint64_t>(t))).effects[1].interval;
    covered += interval.lower < 20 && interval.upper > 20 ? 1 : 0;
  }
  EXPECT_GE(covered, 0.90 * trials);
  EXPECT_LE(covered, 0.995 * trials);
}

TEST(Effects, CoverTheTruthFromTwoRunsOn) {
  for (const int repeats : {2, 3}) {
    int covered = 0;
    constexpr int trials = 400;
    for (int t = 0; t < trials; ++t) {
      RunSet set = factorial(0.5, 0.2, 0, repeats, static_cast<std::uint64_t>(t));
      set.suite->axes.pop_back();  // two cases alone
      set.cases = {set.cases[0], set.cases[2]};
      const Interval interval = find_effects(set).effects[0].interval;
      covered += interval.lower < 50 && interval.upper > 50 ? 1 : 0;
    }
    EXPECT_GE(covered, 0.93 * trials) << repeats;
  }
}

TEST(Effects, OfAccuracyHaveTheErrorOfCounting) {
  RunSet set = factorial(0.5, 0.2, 0, 3, 1);
  for (MeasuredCase& item : set.cases) {
    for (MeasuredRun& run : item.runs) run.record.figures->evaluation->eval_samples = 16;
  }
  const EffectsReport report = find_effects(set);
  const auto accuracy = std::find_if(report.effects.begin(), report.effects.end(),
                                     [](const Effect& effect) { return effect.response == Response::accuracy; });
  ASSERT_NE(accuracy, report.effects.end());
  EXPECT_TRUE(accuracy->interval.bounded);
  EXPECT_LT(accuracy->interval.lower, -15);  // points: 16 samples at 0.75 have a standard error of 11
  EXPECT_EQ(accuracy->runs, 3);
}

TEST(Effects, LeaveOutCasesWithoutGoodRuns) {
  RunSet set = factorial(0.5, 0.2, 0, 3, 1);
  for (MeasuredRun& run : set.cases[3].runs) run.record.outcome = RunOutcome::oom;
  const EffectsReport report = find_effects(set);
  EXPECT_EQ(report.effects[0].combinations, 1);
  EXPECT_FALSE(report.notes.empty());
}

TEST(Effects, HaveNoIntervalFromOneRepeat) {
  const EffectsReport report = find_effects(factorial(0.5, 0.2, 0, 1, 1));
  EXPECT_FALSE(report.effects[0].interval.bounded);
}

TEST(Effects, OfFewerThanTwoCasesAreRefused) {
  RunSet set = factorial(0.5, 0.2, 0, 3, 1);
  set.cases.resize(1);
  EXPECT_THROW(find_effects(set), Error);
}

TEST(Effects, AreSetInLatexWithEveryNameEscaped) {
  RunSet set = factorial(0.5, 0.2, 0, 2, 1);
  set.suite->axes[0].label = "amp_level";
  const std::string text = effects_latex(find_effects(set));
  EXPECT_NE(text.find("amp\\_level: O0 -\\textgreater{} O1 & "), std::string::npos) << text;
  EXPECT_NE(text.find("95 \\% interval"), std::string::npos);
}

TEST(Effects, FitTheirSchema) {
  EXPECT_EQ(schema_problem(write_fields(find_effects(factorial(0.5, 0.2, 0, 3, 1))), schema_of_fields<EffectsReport>()),
            "");
}

}  // namespace
}  // namespace ptrain

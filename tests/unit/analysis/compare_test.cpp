#include "core/analysis/compare.h"

#include "core/report/schema_check.h"
#include "tests/unit/analysis/example_runs.h"

#include <gtest/gtest.h>

namespace ptrain {
namespace {

MeasuredCase example_case(const std::string& name, double step_ms, double top1 = 0.75, int runs = 8) {
  MeasuredCase item{name, {}};
  for (int r = 0; r < runs; ++r) item.runs.push_back(example_run(name, r, step_ms * (1 + 0.001 * (r % 3)), top1));
  return item;
}

TEST(Compare, CallsEachVerdict) {
  const MeasuredCase base = example_case("base", 10);
  EXPECT_EQ(compare_cases(base, example_case("new", 10.01), {}).speed.verdict, Verdict::same);
  EXPECT_EQ(compare_cases(base, example_case("new", 10.5), {}).speed.verdict, Verdict::slower);
  EXPECT_EQ(compare_cases(base, example_case("new", 9.5), {}).speed.verdict, Verdict::faster);
  EXPECT_EQ(compare_cases(base, example_case("new", 10.5, 0.75, 2), {}).speed.verdict, Verdict::inconclusive);
}

TEST(Compare, OneRunOfEachIsNoVerdict) {
  const CaseComparison result = compare_cases(example_case("base", 10, 0.75, 1), example_case("new", 30, 0.75, 1), {});
  EXPECT_EQ(result.speed.verdict, Verdict::inconclusive);
  EXPECT_GT(result.speed.more_runs, 0);
}

TEST(Compare, FailedRunsAreNamed) {
  MeasuredCase broken = example_case("new", 10);
  for (MeasuredRun& run : broken.runs) {
    run.record.outcome = RunOutcome::oom;
    run.record.message = "does not fit";
  }
  const CaseComparison result = compare_cases(example_case("base", 10), broken, {});
  EXPECT_EQ(result.speed.verdict, Verdict::inconclusive);
  EXPECT_NE(result.speed.reason.find("does not fit"), std::string::npos);
}

Comparison compared(MeasuredCase base, MeasuredCase changed) {
  RunSet before, after;
  before.cases.push_back(std::move(base));
  after.cases.push_back(std::move(changed));
  return compare(before, after, {});
}

TEST(Compare, CountsFailedRunsOfBothSides) {
  const auto with_failures = [](const std::string& name, int failed) {
    MeasuredCase item = example_case(name, name == "base" ? 10 : 10.01);
    for (MeasuredRun& run : item.runs) run.record.figures->evaluation->eval_samples = 100'000;
    for (int i = 0; i < failed; ++i) {
      MeasuredRun& run = item.runs[static_cast<std::size_t>(i)];
      run.record.outcome = RunOutcome::diverged;
      run.record.message = "the loss is not finite";
      run.record.figures.reset();
    }
    return item;
  };
  const Comparison many = compared(with_failures("base", 0), with_failures("new", 4));
  EXPECT_EQ(many.outcome(), ExitCode::regressed);
  EXPECT_EQ(many.cases.front().speed.verdict, Verdict::inconclusive);
  EXPECT_NE(comparison_text(many).find("4 of 8 new runs failed, 0 of 8 base runs failed (diverged: the loss"),
            std::string::npos)
      << comparison_text(many);
  EXPECT_EQ(compared(with_failures("base", 0), with_failures("new", 1)).outcome(), ExitCode::inconclusive);
  EXPECT_EQ(compared(with_failures("base", 2), with_failures("new", 2)).outcome(), ExitCode::ok);
  EXPECT_EQ(compared(with_failures("base", 1), with_failures("new", 2)).outcome(), ExitCode::ok);
  EXPECT_EQ(compared(with_failures("base", 1), with_failures("new", 4)).outcome(), ExitCode::inconclusive);
  EXPECT_EQ(compared(with_failures("base", 2), with_failures("new", 0)).outcome(), ExitCode::ok);
}

TEST(Compare, SaysWhatOneSideLacks) {
  const std::string fewer = comparison_text(compared(example_case("base", 10), example_case("new", 10, 0.75, 7)));
  EXPECT_NE(fewer.find("base has 8 records, new has 7"), std::string::npos) << fewer;
  RunSet base, changed;
  base.cases = {example_case("a", 10), example_case("b", 10)};
  changed.cases = {example_case("b", 10), example_case("c", 10)};
  const std::string text = comparison_text(compare(base, changed, {}));
  EXPECT_NE(text.find("c: only new has it: not compared"), std::string::npos) << text;
  EXPECT_NE(text.find("a: new: no good run (was not run)"), std::string::npos) << text;
  EXPECT_EQ(text.find("records"), std::string::npos) << text;
}

TEST(Compare, IsNotFasterWhereSomeRunsTakeMuchLonger) {
  MeasuredCase changed = example_case("new", 9.5);
  for (std::size_t i = 5; i < 8; ++i) changed.runs[i].record.figures->seconds *= 3;
  const CaseComparison result = compare_cases(example_case("base", 10), changed, {});
  EXPECT_EQ(result.speed.verdict, Verdict::inconclusive);
  EXPECT_LT(result.speed.percent.upper, -4);
  EXPECT_NE(result.speed.reason.find("some runs stall"), std::string::npos) << result.speed.reason;
}

TEST(Compare, RefusesOtherUnits) {
  MeasuredCase changed = example_case("new", 5);
  for (MeasuredRun& run : changed.runs) run.record.figures->unit = "sequences/s";
  const CaseComparison result = compare_cases(example_case("base", 10), changed, {});
  EXPECT_TRUE(result.refused);
  EXPECT_NE(result.speed.reason.find("sequences/s"), std::string::npos);
}

TEST(Compare, RefusesAnotherMachineUnlessAllowed) {
  const MeasuredCase base = example_case("base", 10);
  MeasuredCase elsewhere = example_case("new", 10);
  for (MeasuredRun& run : elsewhere.runs) run.report->environment.cpu.model = "another processor";
  EXPECT_TRUE(compare_cases(base, elsewhere, {}).refused);
  CompareRule lenient;
  lenient.allowed = {DifferenceKind::hardware};
  const CaseComparison allowed = compare_cases(base, elsewhere, lenient);
  EXPECT_FALSE(allowed.refused);
  ASSERT_FALSE(allowed.differences.empty());
  EXPECT_EQ(allowed.differences.front().what, "environment.cpu.model");
}

TEST(Compare, NotesOtherLibrariesWithoutRefusing) {
  MeasuredCase upgraded = example_case("new", 10);
  for (MeasuredRun& run : upgraded.runs) run.report->environment.libraries = {{"oneDNN", "99"}};
  const CaseComparison result = compare_cases(example_case("base", 10), upgraded, {});
  EXPECT_FALSE(result.refused);
  ASSERT_EQ(result.differences.size(), 1u);
  EXPECT_EQ(result.differences.front().what, "environment.libraries.oneDNN");
  EXPECT_EQ(result.differences.front().changed, "99");
  EXPECT_EQ(result.speed.verdict, Verdict::same);
}

TEST(Compare, RefusesOtherWork) {
  MeasuredCase other = example_case("new", 10);
  for (MeasuredRun& run : other.runs) run.report->config["data"]["image_size"] = 64;
  const CaseComparison result = compare_cases(example_case("base", 10), other, {});
  EXPECT_TRUE(result.refused);
  EXPECT_EQ(result.differences.front().kind, DifferenceKind::data);
}

TEST(Compare, TakesTheDefaultOfKeysThatAnOlderReportLacks) {
  MeasuredCase older = example_case("base", 10);
  for (MeasuredRun& run : older.runs) run.report->config["data"].erase("max_bad_share");
  const CaseComparison result = compare_cases(older, example_case("new", 10), {});
  EXPECT_FALSE(result.refused);
  EXPECT_TRUE(result.differences.empty());
}

TEST(Compare, HoldsAccuracyToItsMargin) {
  const auto verdict = [](double top1, std::int64_t samples) {
    MeasuredCase base = example_case("base", 10, 0.90), changed = example_case("new", 10, top1);
    for (MeasuredCase* side : {&base, &changed}) {
      for (MeasuredRun& run : side->runs) run.record.figures->evaluation->eval_samples = samples;
    }
    return test_accuracy_change(base.good(), changed.good(), 0.01).verdict;
  };
  EXPECT_EQ(verdict(0.90, 1000), AccuracyVerdict::not_worse);
  EXPECT_EQ(verdict(0.90, 16), AccuracyVerdict::inconclusive);  // a fifth of them may have changed sides
  EXPECT_EQ(verdict(0.50, 128), AccuracyVerdict::worse);
  EXPECT_EQ(verdict(0.89, 128), AccuracyVerdict::inconclusive);
}

/// Runs whose primary metric has `values`, with its error where it has one.
MeasuredCase measured_by(const MetricValue& metric, const std::vector<double>& values) {
  MeasuredCase item = example_case("case", 10, 0.75, static_cast<int>(values.size()));
  for (std::size_t r = 0; r < values.size(); ++r) {
    MetricValue measured = metric;
    measured.value = values[r];
    item.runs[r].record.figures->evaluation = example_evaluation(measured);
  }
  return item;
}

AccuracyChange test_accuracy(const MeasuredCase& base, const MeasuredCase& changed) {
  return test_accuracy_change(base.good(), changed.good(), 0.01);
}

TEST(Compare, TestsThePrimaryMetricInItsDirection) {
  const MetricValue perplexity = example_metric("perplexity", "perplexity", MetricKind::amount, {});
  const MeasuredCase base = measured_by(perplexity, {20.0, 20.1, 19.9, 20.0});
  EXPECT_EQ(test_accuracy(base, measured_by(perplexity, {22.0, 22.1, 21.9, 22.0})).verdict, AccuracyVerdict::worse);
  EXPECT_EQ(test_accuracy(base, measured_by(perplexity, {18.0, 18.1, 17.9, 18.0})).verdict, AccuracyVerdict::not_worse);
  EXPECT_EQ(test_accuracy(base, measured_by(perplexity, {20.01, 20.1, 19.9, 20.0})).verdict,
            AccuracyVerdict::not_worse);
  EXPECT_EQ(test_accuracy(base, measured_by(perplexity, {20.0, 24.0, 18.0, 21.0})).verdict,
            AccuracyVerdict::inconclusive);
  MetricValue pearson = example_metric("pearson", "Pearson", MetricKind::score, {});
  pearson.standard_error = 0.01;
  EXPECT_EQ(test_accuracy(measured_by(pearson, {0.85}), measured_by(pearson, {0.80})).verdict, AccuracyVerdict::worse);
  EXPECT_EQ(test_accuracy(measured_by(pearson, {0.85}), measured_by(pearson, {0.90})).verdict,
            AccuracyVerdict::not_worse);
  EXPECT_EQ(test_accuracy(measured_by(pearson, {0.85}), measured_by(pearson, {0.84})).verdict,
            AccuracyVerdict::inconclusive);
  EXPECT_EQ(test_accuracy(measured_by(pearson, {0.85}), measured_by(pearson, {0.85})).verdict,
            AccuracyVerdict::not_worse)
      << "nothing changed";
}

TEST(Compare, OneRunASideWithoutAnErrorIsTestedByTheMarginAndSaysSo) {
  const MetricValue perplexity = example_metric("perplexity", "perplexity", MetricKind::amount, {});
  const AccuracyChange worse = test_accuracy(measured_by(perplexity, {20}), measured_by(perplexity, {21}));
  EXPECT_EQ(worse.verdict, AccuracyVerdict::worse);
  EXPECT_NE(worse.reason.find("perplexity of one run per side has no error"), std::string::npos) << worse.reason;
  const AccuracyChange little = test_accuracy(measured_by(perplexity, {20}), measured_by(perplexity, {20.1}));
  EXPECT_EQ(little.verdict, AccuracyVerdict::inconclusive);
  EXPECT_FALSE(little.reason.empty());
  EXPECT_EQ(test_accuracy(measured_by(perplexity, {20}), measured_by(perplexity, {20})).verdict,
            AccuracyVerdict::not_worse);
}

TEST(Compare, DoesNotCompareDifferentMetrics) {
  const MeasuredCase base = measured_by(example_metric("top1", "top-1", MetricKind::fraction, {}), {0.9, 0.9});
  const MeasuredCase other = measured_by(example_metric("auc", "AUC", MetricKind::score, {}), {0.9, 0.9});
  const AccuracyChange renamed = test_accuracy(base, other);
  EXPECT_EQ(renamed.verdict, AccuracyVerdict::inconclusive);
  EXPECT_NE(renamed.reason.find("the primary metric of base is top1, that of new is auc"), std::string::npos)
      << renamed.reason;
  MeasuredCase unmeasured = example_case("case", 10, 0.9, 2);
  for (MeasuredRun& run : unmeasured.runs) run.record.figures->evaluation.reset();
  const AccuracyChange gone = test_accuracy(base, unmeasured);
  EXPECT_EQ(gone.verdict, AccuracyVerdict::inconclusive);
  EXPECT_NE(gone.reason.find("top1 was measured on base only"), std::string::npos) << gone.reason;
  EXPECT_EQ(test_accuracy(unmeasured, base).verdict, AccuracyVerdict::inconclusive);
  EXPECT_EQ(test_accuracy(unmeasured, unmeasured).verdict, AccuracyVerdict::not_measured);
  const AccuracyChange fewer = test_accuracy(example_case("case", 10, 0.9, 2), base);
  EXPECT_EQ(fewer.verdict, AccuracyVerdict::inconclusive);
  EXPECT_NE(fewer.reason.find("top5 was measured on base only"), std::string::npos) << fewer.reason;
}

TEST(Compare, DoesNotCompareTheRunsThatStillHaveTheirAccuracyAlone) {
  const MeasuredCase base = example_case("case", 10, 0.9, 8);
  for (const bool all_of_it : {true, false}) {
    MeasuredCase changed = base;
    for (std::size_t run = 0; run < 7; ++run) {
      std::optional<Evaluation>& evaluation = changed.runs[run].record.figures->evaluation;
      all_of_it ? evaluation.reset() : evaluation->metrics[2].value.reset();
    }
    const AccuracyChange gone = test_accuracy(base, changed);
    EXPECT_EQ(gone.verdict, AccuracyVerdict::inconclusive);
    EXPECT_EQ(gone.reason, fmt::format("not comparable: {} was measured in 1 of 8 runs of new, in 8 of 8 of base",
                                       all_of_it ? "top1" : "loss"));
    EXPECT_TRUE(test_accuracy(changed, base).compared) << "more than before is not lost";
  }
}

TEST(Compare, NamesTheMetricThatGotWorse) {
  const MetricValue perplexity = example_metric("perplexity", "perplexity", MetricKind::amount, {});
  Comparison comparison;
  MeasuredCase changed = measured_by(perplexity, {25.0, 25.1});
  for (MeasuredRun& run : changed.runs) run.record.started = "2025-02-01T12:00:00Z";
  comparison.cases = {compare_cases(measured_by(perplexity, {20.0, 20.1}), changed, {})};
  EXPECT_EQ(comparison.outcome(), ExitCode::regressed);
  EXPECT_NE(comparison_text(comparison).find("memory  perplexity\n"), std::string::npos) << comparison_text(comparison);
  EXPECT_NE(comparison_text(comparison).find("WORSE 20.05 ± 0.07 -> 25.05 ± 0.07"), std::string::npos);
  EXPECT_NE(comparison_markdown(comparison).find("| Memory | Perplexity |"), std::string::npos);
}

TEST(Compare, OfARunWithItselfIsNoVerdict) {
  const MeasuredCase base = example_case("base", 10);
  const CaseComparison result = compare_cases(base, base, {});
  EXPECT_EQ(result.speed.verdict, Verdict::inconclusive);
  EXPECT_NE(result.speed.reason.find("the same runs"), std::string::npos);
}

MeasuredCase with_targets(MeasuredCase item, const std::vector<double>& seconds) {
  for (std::size_t r = 0; r < seconds.size(); ++r) {
    if (seconds[r] > 0) item.runs[r].record.figures->time_to_accuracy = seconds[r];
  }
  return item;
}

TEST(Compare, ReportsTheChangeOfTheTimeToAccuracy) {
  const MeasuredCase base = with_targets(example_case("base", 10, 0.75, 4), {300, 320, 310, 0});
  const MeasuredCase sooner = with_targets(example_case("new", 10, 0.75, 4), {150, 160, 155, 170});
  const CaseComparison result = compare_cases(base, sooner, {});
  ASSERT_TRUE(result.target);
  EXPECT_NEAR(result.target->percent.estimate, -50, 1e-9) << "three pairs: the fourth missed the target";
  EXPECT_TRUE(result.target->percent.bounded);
  EXPECT_EQ(result.target->missed, 1);
  EXPECT_NEAR(result.target->base, 310, 1e-9);
  Comparison comparison;
  comparison.cases.push_back(compare_cases(sooner, base, {}));
  EXPECT_EQ(comparison.outcome(), ExitCode::regressed) << "as fast by the step, twice as late";
  EXPECT_EQ(schema_problem(write_fields(comparison), schema_of_fields<Comparison>()), "");
  EXPECT_NE(comparison_text(comparison)
                .find("time to accuracy 157 s -> 310 s, +100.0 % (+100.0 to +100.0); 1 run missed the target"),
            std::string::npos)
      << comparison_text(comparison);
  EXPECT_FALSE(compare_cases(base, example_case("new", 10, 0.75, 4), {}).target) << "one side has no target";
}

TEST(Compare, ShowsNoHashes) {
  Comparison comparison;
  comparison.cases.push_back(compare_cases(example_case("base", 10), example_case("new", 10), {}));
  comparison.cases.front().differences = {
      {DifferenceKind::note, "choices", "chosen fnv1a64:0123456789abcdef", "chosen fnv1a64:fedcba9876543210"},
      {DifferenceKind::note, "plan", "a fnv1a64:0123456789abcdef", "b"}};
  const std::string text = comparison_text(comparison);
  EXPECT_NE(text.find("differs: choices\ndiffers: plan: a -> b\n"), std::string::npos) << text;
}

TEST(Compare, FitsItsSchemaAndExitCode) {
  Comparison comparison;
  comparison.cases.push_back(compare_cases(example_case("base", 10), example_case("new", 11), {}));
  EXPECT_EQ(schema_problem(write_fields(comparison), schema_of_fields<Comparison>()), "");
  EXPECT_EQ(comparison.outcome(), ExitCode::regressed);
}

}  // namespace
}  // namespace ptrain

#include "core/analysis/history/history.h"

#include "core/analysis/history/change_points.h"
#include "tests/error_message.h"
#include "tests/unit/analysis/example_runs.h"
#include "tests/unit/analysis/recorded_noise.h"

#include <gtest/gtest.h>

#include <cmath>
#include <functional>
#include <random>

namespace ptrain {
namespace {

using Levels = std::vector<double>;

/// Figures of one sweep.
struct Measured {
  double step_ms = 10;
  double memory_mib = 100;
  double top1 = 0.75;
  double mean_ms = 10;
};

/// Sweep number `day` of one case, three runs that are equal.
SavedSweep get_sweep(int day, const Measured& measured) {
  static const MeasuredRun example = example_run("base", 0, 10);
  SavedSweep sweep;
  SuiteRecord& suite = sweep.runs.suite.emplace();
  suite.suite = "example";
  suite.machine.name = suite.machine.hash = "here";
  suite.sweep = std::to_string(day);
  suite.cases.push_back({"base", "base", nlohmann::json::object(), "hash", {{"train.steps", 30}}});
  sweep.runs.cases.push_back({"base", {}});
  for (int repeat = 0; repeat < 3; ++repeat) {
    MeasuredRun run;
    run.record = example.record;
    run.record.started = fmt::format("2025-01-{:02}T12:00:00Z", day + 1);
    run.record.figures->typical_step_ms = measured.step_ms;
    run.record.figures->seconds = measured.mean_ms * static_cast<double>(run.record.figures->step_ms.count) / 1e3;
    run.record.figures->memory_bytes = std::llround(measured.memory_mib * (1 << 20));
    run.record.figures->evaluation = example_evaluation(measured.top1);
    sweep.runs.cases.front().runs.push_back(std::move(run));
  }
  sweep.record = make_baseline_record(sweep.runs);
  sweep.record.label = fmt::format("v{}", day);
  sweep.record.commit = day < 12 ? "old" : "new";
  return sweep;
}

/// `count` sweeps of small, fixed noise; `change` alters those from the twelfth on.
std::vector<SavedSweep> get_sweeps(int count, const std::function<void(Measured&)>& change = {}) {
  std::vector<SavedSweep> sweeps;
  std::mt19937 random(3);
  for (int day = 0; day < count; ++day) {
    const double noise = 1 + 0.001 * (static_cast<double>(random() % 1000) / 1000 - 0.5);
    Measured measured{10 * noise, 100 * noise, 0.75 * noise, 10 * noise};
    if (change && day >= 12) change(measured);
    sweeps.push_back(get_sweep(day, measured));
  }
  return sweeps;
}

const HistorySeries& get_series(const History& history, Response response) {
  for (const HistorySeries& series : history.series) {
    if (series.response == response) return series;
  }
  throw std::logic_error("no such series");
}

struct Direction {
  const char* name;
  Response response;
  void (*change)(Measured&);
  double size;
  bool regression;
};

class Directions : public testing::TestWithParam<Direction> {};

TEST_P(Directions, AreReportedWithSizeAndPlace) {
  const Direction& wanted = GetParam();
  const History history = find_history("folder", get_sweeps(24, wanted.change), {});
  for (const HistorySeries& series : history.series) {
    EXPECT_EQ(series.changes.size(), series.response == wanted.response ? 1u : 0u) << to_string(series.response);
  }
  const HistoryChange& change = get_series(history, wanted.response).changes.at(0);
  EXPECT_EQ(change.at, 12);
  EXPECT_EQ(change.before, "v11");
  EXPECT_EQ(change.after, "v12");
  EXPECT_EQ(change.regression, wanted.regression);
  EXPECT_NEAR(change.size.estimate, wanted.size, 0.1);
  EXPECT_TRUE(change.size.bounded);
  EXPECT_LE(change.size.lower, wanted.size + 0.1);
  EXPECT_GE(change.size.upper, wanted.size - 0.1);
  EXPECT_EQ(change.differences, "commit was old, is new");
  EXPECT_EQ(history.outcome(), wanted.regression ? ExitCode::regressed : ExitCode::ok);
}

INSTANTIATE_TEST_SUITE_P(
    History, Directions,
    testing::Values(
        Direction{"Slower", Response::throughput, [](Measured& m) { m.step_ms *= 1.05; }, 100 / 1.05 - 100, true},
        Direction{"Faster", Response::throughput, [](Measured& m) { m.step_ms /= 1.05; }, 5, false},
        Direction{"Stalls", Response::mean_throughput, [](Measured& m) { m.mean_ms *= 1.2; }, 100 / 1.2 - 100, true},
        Direction{"MoreMemory", Response::memory, [](Measured& m) { m.memory_mib *= 1.1; }, 10, true},
        Direction{"LessMemory", Response::memory, [](Measured& m) { m.memory_mib *= 0.9; }, -10, false},
        Direction{"LessAccurate", Response::accuracy, [](Measured& m) { m.top1 -= 0.02; }, -2, true},
        Direction{"MoreAccurate", Response::accuracy, [](Measured& m) { m.top1 += 0.02; }, 2, false}),
    [](const auto& of) { return std::string(of.param.name); });

TEST(History, TestsThePrimaryMetricInItsDirectionAndNamesIt) {
  for (const double factor : {1.1, 0.9}) {
    std::vector<SavedSweep> sweeps = get_sweeps(24);
    for (std::size_t day = 0; day < sweeps.size(); ++day) {
      const double value = (20 + 0.001 * static_cast<double>(day * 7 % 5)) * (day < 12 ? 1 : factor);
      for (MeasuredRun& run : sweeps[day].runs.cases.front().runs) {
        run.record.figures->evaluation =
            example_evaluation(example_metric("perplexity", "perplexity", MetricKind::amount, value));
      }
    }
    const History history = find_history("folder", sweeps, {});
    const HistoryChange& change = get_series(history, Response::accuracy).changes.at(0);
    EXPECT_EQ(change.regression, factor > 1);
    EXPECT_NEAR(change.size.estimate, 100 * (factor - 1), 0.1);
    EXPECT_EQ(history.outcome(), factor > 1 ? ExitCode::regressed : ExitCode::ok);
    const std::string text = change_text(get_series(history, Response::accuracy), change);
    EXPECT_NE(text.find(factor > 1 ? "base: perplexity +10.0 %" : "base: perplexity -10.0 %"), std::string::npos)
        << text;
  }
}

TEST(History, LeavesOutWhatIsBelowTheThreshold) {
  const auto slower = [](Measured& m) { m.step_ms *= 1.01; };
  EXPECT_TRUE(get_series(find_history("", get_sweeps(24, slower), {}), Response::throughput).changes.empty());
  HistoryRule rule;
  rule.threshold_percent = 0.5;
  EXPECT_EQ(get_series(find_history("", get_sweeps(24, slower), rule), Response::throughput).changes.size(), 1u);
}

TEST(History, SaysWhenThereAreTooFewPoints) {
  const History history = find_history("", get_sweeps(6), {});
  EXPECT_EQ(history.outcome(), ExitCode::inconclusive);
  EXPECT_NE(history_text(history).find("4 series of 6: too few points"), std::string::npos) << history_text(history);
}

TEST(History, NeverMixesMachines) {
  std::vector<SavedSweep> sweeps = get_sweeps(24, [](Measured& m) { m.step_ms *= 2; });
  for (std::size_t i = 12; i < sweeps.size(); ++i) {
    sweeps[i].record.machine.hash = "there";  // of the same name
  }
  const History history = find_history("", sweeps, {});
  EXPECT_EQ(history.series.size(), 8u);
  EXPECT_EQ(group_series(history).size(), 2u);
  for (const HistorySeries& series : history.series) EXPECT_TRUE(series.changes.empty());
}

TEST(History, BeginsAnotherSeriesWithAnotherConfiguration) {
  std::vector<SavedSweep> sweeps = get_sweeps(24, [](Measured& m) { m.step_ms *= 2; });
  for (std::size_t i = 12; i < sweeps.size(); ++i) sweeps[i].runs.suite->cases[0].work["train.steps"] = 40;
  const History history = find_history("", sweeps, {});
  EXPECT_EQ(history.series.size(), 8u);
  ASSERT_EQ(history.notes.size(), 1u);
  EXPECT_NE(history.notes[0].find("at v12"), std::string::npos) << history.notes[0];
  EXPECT_NE(history.notes[0].find("train.steps was 30, is 40"), std::string::npos) << history.notes[0];
}

TEST(History, HoldsNothingAgainstWhatWasBeforeALabel) {
  const auto sweeps = get_sweeps(24, [](Measured& m) { m.step_ms *= 1.05; });
  HistoryRule rule;
  rule.since = "v13";
  EXPECT_EQ(find_history("", sweeps, rule).outcome(), ExitCode::ok);
  rule.since = "v12";
  EXPECT_EQ(find_history("", sweeps, rule).outcome(), ExitCode::regressed);
  rule.since = "v111";
  EXPECT_NE(get_error([&] { find_history("", sweeps, rule); }, ExitCode::usage).find("did you mean v11?"),
            std::string::npos);
}

TEST(History, IsNoRegressionAnyMoreOnceItIsMadeUpFor) {
  auto sweeps = get_sweeps(24, [](Measured& m) { m.step_ms *= 1.05; });
  for (int day = 24; day < 30; ++day) sweeps.push_back(get_sweep(day, {10 + 0.001 * day, 100, 0.75}));
  const History history = find_history("", sweeps, {});
  EXPECT_EQ(get_series(history, Response::throughput).changes.size(), 2u);
  EXPECT_EQ(history.outcome(), ExitCode::ok);
}

TEST(ChangePoints, AreTheSameEveryTime) {
  std::mt19937 random(1);
  Levels values;
  for (int i = 0; i < 60; ++i) values.push_back((i < 20 ? 0 : i < 40 ? 3 : 1) + 1e-3 * (random() % 1000));
  const auto first = find_change_points(values, 0.02), again = find_change_points(values, 0.02);
  ASSERT_EQ(first.size(), 2u);
  EXPECT_EQ(first[0].at, 20u);
  EXPECT_EQ(first[1].at, 40u);
  EXPECT_EQ(first[0].p, again[0].p);
}

TEST(ChangePoints, FewestAreThoseWhoseOrdersAreRareEnough) {
  EXPECT_EQ(fewest_points(0.02), 9);  // 2 of 126 orders
  EXPECT_EQ(find_change_points(Levels{1, 1, 1, 1, 2, 2, 2, 2}, 0.02).size(), 0u);
  EXPECT_EQ(find_change_points(Levels{1, 1, 1, 1, 1, 2, 2, 2, 2}, 0.02).size(), 1u);
  EXPECT_EQ(fewest_points_after(20, 0.02), 2);  // 2 of 190
}

TEST(ChangePoints, AreNotMadeOrHiddenByAnOutlier) {
  std::mt19937 random(1);
  Levels values;
  for (int i = 0; i < 30; ++i) values.push_back(1e-3 * (random() % 1000));
  values[7] = 50;
  EXPECT_TRUE(find_change_points(values, 0.02).empty());
  for (std::size_t i = 15; i < 30; ++i) values[i] += 1.5;
  const auto found = find_change_points(values, 0.02);
  ASSERT_EQ(found.size(), 1u);
  EXPECT_EQ(found[0].at, 15u);
}

/// Of 100 histories of 40 points, ten runs each, of noise recorded on a shared machine; `at` and on they are 5 %
/// slower.
template <typename Count>
int histories(std::size_t at, Count counts) {
  const RecordedNoise noise;
  std::mt19937_64 random(7);
  int counted = 0;
  for (int trial = 0; trial < 100; ++trial) {
    Levels points;
    for (std::size_t i = 0; i < 40; ++i) {
      Levels runs;
      for (int run = 0; run < 10; ++run) runs.push_back(std::log(noise.step_ms[random() % noise.step_ms.size()]));
      points.push_back(centre_interval(runs, 0.95).estimate + (i >= at ? std::log(1.05) : 0));
    }
    counted += counts(find_change_points(points, HistoryRule{}.significance)) ? 1 : 0;
  }
  return counted;
}

TEST(ChangePoints, AreRareWithoutAChange) {
  EXPECT_LE(histories(40, [](const auto& found) { return !found.empty(); }), 5);
}

TEST(ChangePoints, FindAStepOfFivePercentWithinThreePoints) {
  const auto near = [](const auto& found) {
    return std::any_of(found.begin(), found.end(), [](const ChangePoint& p) { return p.at >= 17 && p.at <= 23; });
  };
  EXPECT_GE(histories(20, near), 95);
}

TEST(FailureChange, IsFoundWhereMoreRunsFail) {
  const auto counts = [](std::int64_t failed) { return RunCounts{4, failed, 0, failed > 0 ? "oom" : ""}; };
  const std::vector<CountsAt> healthy = {{"v1", counts(0)}, {"v2", counts(1)}, {"v3", counts(0)}, {"v4", counts(1)}};
  EXPECT_FALSE(find_failure_change(healthy));
  const std::vector<CountsAt> worse = {{"v1", counts(0)}, {"v2", counts(0)}, {"v3", counts(3)}, {"v4", counts(3)}};
  const std::optional<FailureChange> change = find_failure_change(worse);
  ASSERT_TRUE(change);
  EXPECT_EQ(change->since, "v3");
  EXPECT_EQ(change->after.failed, 6);
  EXPECT_EQ(change->before.runs, 8);
  History history;
  history.failures.push_back(*change);
  EXPECT_EQ(history.outcome(), ExitCode::regressed);
}

TEST(History, RunsThatLostTheirAccuracyAreARegression) {
  std::vector<SavedSweep> sweeps = get_sweeps(5);
  EXPECT_TRUE(find_history("folder", sweeps, {}).lost.empty());
  const auto lose = [&](std::size_t day, std::size_t run) {
    sweeps[day].runs.cases.front().runs[run].record.figures->evaluation->metrics.front().value.reset();
  };
  lose(1, 0);  // and found again
  EXPECT_TRUE(find_history("folder", sweeps, {}).lost.empty());
  for (std::size_t run = 0; run < 3; ++run) lose(3, run);
  lose(4, 1);
  const History history = find_history("folder", sweeps, {});
  ASSERT_EQ(history.lost.size(), 1u);
  const LostAccuracy& lost = history.lost.front();
  EXPECT_EQ(lost.since, "v3");
  EXPECT_EQ(std::tuple(lost.before, lost.runs_before, lost.after, lost.runs_after), std::tuple(3, 3, 2, 6));
  EXPECT_EQ(history.outcome(), ExitCode::regressed);
  HistoryRule later;
  later.since = "v4";
  EXPECT_TRUE(find_history("folder", sweeps, later).lost.empty());
}

}  // namespace
}  // namespace ptrain

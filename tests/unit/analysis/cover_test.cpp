// Whether 95 % intervals hold the label 95 times of 100 for few runs, on noise recorded on a shared machine.
#include "core/analysis/effects/effects.h"
#include "tests/unit/analysis/example_runs.h"
#include "tests/unit/analysis/recorded_noise.h"

#include <gtest/gtest.h>

#include <algorithm>
#include <cmath>
#include <random>

namespace ptrain {
namespace {

constexpr int runs_of_cover = 600;
constexpr double fewest_held = 0.93;  // three standard errors of 600 runs_of_cover below 0.95
constexpr double slowdown = 1.03;

/// A good run without a report, which effects do not read.
MeasuredRun run_of_noise(const std::string& name, int round, double step_ms) {
  static const MeasuredRun example = example_run("", 0, 1);
  MeasuredRun run;
  run.record = example.record;
  run.record.case_name = name;
  run.record.repeat = round;
  run.record.figures->typical_step_ms = step_ms;
  run.record.figures->evaluation.reset();
  return run;
}

/// `rounds` of neighbouring runs in random order, one of each of `cases`, of which the second half is slowed down.
RunSet get_sweep(const RecordedNoise& noise, std::size_t cases, int rounds, std::mt19937_64& random) {
  RunSet set;
  set.suite.emplace().suite = "noise";
  set.suite->axes = {{"fusion", "fusion", {0, 1}}, {"seed", "seed", nlohmann::json::array()}};
  for (std::size_t i = 0; i < cases; ++i) {
    const std::string name = std::to_string(i);
    const std::size_t other = i % (cases / 2);
    if (i < cases / 2) set.suite->axes[1].values.push_back(other);
    set.suite->cases.push_back({name, "", {{"fusion", i / (cases / 2)}, {"seed", other}}, ""});
    set.cases.push_back({name, {}});
  }
  for (int round = 0; round < rounds; ++round) {
    const std::size_t rows = noise.step_ms.size() / noise.row;
    const std::size_t start = random() % rows * noise.row + random() % (noise.row - cases + 1);
    const auto first = noise.step_ms.begin() + static_cast<std::ptrdiff_t>(start);
    std::vector<double> runs(first, first + static_cast<std::ptrdiff_t>(cases));
    std::shuffle(runs.begin(), runs.end(), random);
    for (std::size_t i = 0; i < cases; ++i) {
      set.cases[i].runs.push_back(run_of_noise(std::to_string(i), round, runs[i] * (i < cases / 2 ? 1 : slowdown)));
    }
  }
  return set;
}

TEST(Cover, OfEffectsOnRecordedNoise) {
  const RecordedNoise noise;
  const double label = 100 * (1 / slowdown - 1);
  for (const std::size_t cases : {std::size_t{2}, std::size_t{4}}) {
    for (const int rounds : {2, 3, 5, 10}) {
      std::mt19937_64 random(7);
      int held = 0;
      for (int t = 0; t < runs_of_cover; ++t) {
        const Interval interval = find_effects(get_sweep(noise, cases, rounds, random)).effects.front().interval;
        held += interval.lower <= label && interval.upper >= label ? 1 : 0;
      }
      EXPECT_GE(held, fewest_held * runs_of_cover) << cases << " cases, " << rounds << " rounds";
    }
  }
}

TEST(Cover, OfACasesCentreOnRecordedNoise) {
  const RecordedNoise noise;
  std::vector<double> logs;
  for (const double ms : noise.step_ms) logs.push_back(std::log(ms));
  const double label = signed_rank_interval(logs, 0.95).estimate;
  for (const int runs : {2, 3, 4, 5, 6, 8, 10}) {
    std::mt19937_64 random(7);
    int held = 0;
    for (int t = 0; t < runs_of_cover; ++t) {
      std::vector<double> drawn;
      for (int i = 0; i < runs; ++i) drawn.push_back(logs[random() % logs.size()]);
      const Interval interval = centre_interval(drawn, 0.95);
      held += interval.lower <= label && interval.upper >= label ? 1 : 0;
    }
    EXPECT_GE(held, fewest_held * runs_of_cover) << runs << " runs";
  }
}

}  // namespace
}  // namespace ptrain

#include "core/analysis/bisect/change_search.h"

#include <gtest/gtest.h>

#include <algorithm>
#include <cmath>
#include <functional>
#include <random>

namespace ptrain {
namespace {

/// A series of commits on a simulated machine.
struct Machine {
  std::size_t last = 50, changed = 20;
  double change = -0.03;  // relative
  double noise = 0.015;   // standard deviation of a run
  double drift = 0;       // standard deviation of the level's steps from run to run
  double disturbed = 0;   // fraction of runs that are a tenth slower
  double level = 0;

  double measure(std::size_t commit, std::mt19937_64& random) {
    level += std::normal_distribution<double>(0, 1)(random) * drift;
    const double disturbance = std::uniform_real_distribution<double>(0, 1)(random) < disturbed ? -0.1 : 0;
    return level + disturbance + std::normal_distribution<double>(0, 1)(random) * noise +
           (commit >= changed ? std::log1p(change) : 0);
  }
};

struct Tally {
  int right = 0;
  double runs = 0, commits = 0;  // mean
};

bool is_over(const ChangeSearch& search) {
  return search.state() != SearchState::comparing_ends && search.state() != SearchState::searching;
}

ChangeSearch finish_search(Machine machine, const SearchRule& rule, std::mt19937_64& random) {
  ChangeSearch search(machine.last, rule);
  while (!is_over(search)) {
    const std::size_t commit = search.next();
    search.add({commit, machine.measure(commit, random)});
  }
  return search;
}

/// Twenty to two hundred commits, the change after any of them.
Machine draw_machine(std::mt19937_64& random, double noise, double drift, double disturbed = 0) {
  Machine machine;
  machine.last = 20 + random() % 181;
  machine.changed = 1 + random() % machine.last;
  machine.noise = noise;
  machine.drift = drift;
  machine.disturbed = disturbed;
  return machine;
}

constexpr int searches = 200;

/// Searches of machines that `make` gives.
Tally search_all(const std::function<Machine(std::mt19937_64&)>& make) {
  std::mt19937_64 random(7);
  Tally tally;
  for (int i = 0; i < searches; ++i) {
    const Machine machine = make(random);
    SearchRule rule;
    rule.seed = static_cast<std::uint64_t>(i);
    const ChangeSearch search = finish_search(machine, rule, random);
    const bool found = search.state() == SearchState::found;
    tally.right += found && search.suspects().first == machine.changed ? 1 : 0;
    tally.runs += static_cast<double>(search.runs().size()) / searches;
    for (std::size_t commit = 0; commit <= machine.last; ++commit) {
      tally.commits += (search.count_runs(commit) > 0 ? 1.0 : 0.0) / searches;
    }
  }
  return tally;
}

/// The same of bisections that take the mean of `repeats` runs of a commit as it is.
Tally bisect_all_plainly(int repeats, const std::function<Machine(std::mt19937_64&)>& make) {
  std::mt19937_64 random(7);
  Tally tally;
  for (int i = 0; i < searches; ++i) {
    Machine machine = make(random);
    const auto measure = [&](std::size_t commit) {
      double sum = 0;
      for (int repeat = 0; repeat < repeats; ++repeat) sum += machine.measure(commit, random);
      tally.runs += static_cast<double>(repeats) / searches;
      return sum / repeats;
    };
    const double middle = (measure(0) + measure(machine.last)) / 2;
    std::size_t good = 0, bad = machine.last;
    while (bad - good > 1) {
      const std::size_t commit = (good + bad) / 2;
      (measure(commit) < middle ? bad : good) = commit;
    }
    tally.right += bad == machine.changed ? 1 : 0;
  }
  return tally;
}

TEST(ChangeSearch, FindsAChangeOfThreePercentInNoise) {
  for (const auto& [noise, most_runs] : {std::pair(0.01, 40.0), {0.015, 60.0}, {0.02, 90.0}}) {
    const double deviation = noise;
    const Tally tally = search_all([&](auto& random) { return draw_machine(random, deviation, 0); });
    EXPECT_GE(tally.right, searches * 95 / 100) << noise;
    EXPECT_LE(tally.runs, most_runs) << noise;
    EXPECT_LE(tally.commits, 10) << noise;  // builds
  }
}

TEST(ChangeSearch, TellsDriftOfTheMachineFromTheChange) {
  for (const auto& [drift, most_runs] : {std::pair(0.002, 40.0), {0.005, 50.0}, {0.01, 60.0}}) {
    const double deviation = drift;
    const Tally tally = search_all([&](auto& random) { return draw_machine(random, 0.01, deviation); });
    EXPECT_GE(tally.right, searches * 95 / 100) << drift;
    EXPECT_LE(tally.runs, most_runs) << drift;
  }
}

TEST(ChangeSearch, IsNotMisledByDisturbedRuns) {
  const Tally tally = search_all([](auto& random) { return draw_machine(random, 0.01, 0.002, 0.05); });
  EXPECT_GE(tally.right, searches * 95 / 100);
  EXPECT_LE(tally.runs, 70);
}

TEST(ChangeSearch, NeedsFewerRunsThanABisectionByMeansThatErrsMore) {
  const auto make = [](auto& random) { return draw_machine(random, 0.015, 0); };
  const Tally plain = bisect_all_plainly(8, make), tally = search_all(make);
  EXPECT_GE(tally.right, plain.right);
  EXPECT_LE(tally.runs, plain.runs * 4 / 5);
}

TEST(ChangeSearch, IsRightWhereDriftMisleadsABisectionByMeans) {
  const auto make = [](auto& random) { return draw_machine(random, 0.01, 0.005); };
  EXPECT_LE(bisect_all_plainly(10, make).right, searches / 2);
  EXPECT_GE(search_all(make).right, searches * 95 / 100);
}

TEST(ChangeSearch, SeesNoDifferenceWhereThereIsNone) {
  int others = 0;
  double runs = 0;
  std::mt19937_64 random(5);
  for (int i = 0; i < searches; ++i) {
    Machine machine = draw_machine(random, 0.01, 0.002);
    machine.change = 0;
    const ChangeSearch search = finish_search(machine, {}, random);
    others += search.state() == SearchState::no_difference ? 0 : 1;
    runs += static_cast<double>(search.runs().size()) / searches;
  }
  EXPECT_LE(others, searches / 50);
  EXPECT_LE(runs, 40);
}

TEST(ChangeSearch, NeedsLittleMoreThanTheStepsOfABisectionWithoutNoise) {
  Machine machine;
  machine.noise = machine.drift = 0;
  std::mt19937_64 random(1);
  machine.last = 128;
  machine.changed = 77;
  const ChangeSearch search = finish_search(machine, {}, random);
  EXPECT_EQ(search.state(), SearchState::found);
  EXPECT_EQ(search.suspects().first, 77u);
  EXPECT_EQ(search.suspects().last, 77u);
  EXPECT_NEAR(search.location().change, std::log(0.97), 1e-4);
  EXPECT_LE(search.runs().size(), 28u);
}

TEST(ChangeSearch, GivesARangeWhereCommitsAreSkipped) {
  Machine machine;
  machine.noise = 0.005;
  machine.changed = 30;
  std::mt19937_64 random(1);
  ChangeSearch search(machine.last, {});
  while (!is_over(search)) {
    const std::size_t commit = search.next();
    if (commit >= 28 && commit <= 31) {
      search.skip(commit);
    } else {
      search.add({commit, machine.measure(commit, random)});
    }
  }
  EXPECT_EQ(search.state(), SearchState::found);
  EXPECT_EQ(search.suspects().first, 28u);
  EXPECT_EQ(search.suspects().last, 32u);
}

TEST(ChangeSearch, OfOneCommitComparesTheEnds) {
  Machine machine;
  machine.last = machine.changed = 1;
  std::mt19937_64 random(1);
  const ChangeSearch search = finish_search(machine, {}, random);
  EXPECT_EQ(search.state(), SearchState::found);
  EXPECT_EQ(search.suspects().first, 1u);
}

TEST(ChangeSearch, EndsUndecidedWhenItsRunsAreUsedUp) {
  Machine machine;
  machine.noise = 0.2;
  std::mt19937_64 random(1);
  SearchRule rule;
  rule.most_runs = 30;
  const ChangeSearch search = finish_search(machine, rule, random);
  EXPECT_EQ(search.state(), SearchState::undecided);
  EXPECT_EQ(search.runs().size(), 30u);
}

TEST(ChangeSearch, ContinuesFromItsRunsAsIfNeverInterrupted) {
  Machine machine;
  std::mt19937_64 random(1);
  ChangeSearch search(machine.last, {});
  while (!is_over(search)) {
    ChangeSearch again(machine.last, {});
    for (const CommitRun& run : search.runs()) again.add(run);
    ASSERT_EQ(again.next(), search.next());
    search.add({search.next(), machine.measure(search.next(), random)});
  }
}

TEST(ChangeEvidence, RarelyExceedsItsBoundWithoutAChangeHoweverOftenItIsComputed) {
  std::mt19937_64 random(3);
  std::normal_distribution<double> normal;
  int exceeded = 0;
  for (int search_number = 0; search_number < 2000; ++search_number) {
    std::vector<double> differences;
    double most = 0;
    for (int i = 0; i < 100; ++i) {
      differences.push_back(normal(random));
      most = std::max(most, compute_change_evidence(differences));
    }
    exceeded += most >= 20 ? 1 : 0;
  }
  EXPECT_LE(exceeded, 100);  // one in twenty
  EXPECT_GE(exceeded, 10);
}

}  // namespace
}  // namespace ptrain

// The scaling model: its limits, and what it says where the answer can be had by hand.
#include "core/comm/scaling_model.h"

#include "core/base/errors.h"
#include "tests/error_message.h"
#include "tests/temporary_directory.h"

#include <gtest/gtest.h>

#include <cmath>
#include <fstream>

namespace ptrain {
namespace {

constexpr Link fast{3e-6, 200e9}, slow{15e-6, 10e9};

TEST(Predict, AllReduceOfTwoRanksCarriesTheBufferOnce) {
  const Links links{8, fast, slow};
  const double seconds = all_reduce_seconds(links, 2, 200e6, AllReduceAlgorithm::ring);
  EXPECT_NEAR(seconds, 2 * 3e-6 + 1e-3, 1e-9);
  EXPECT_EQ(all_reduce_seconds(links, 1, 200e6, AllReduceAlgorithm::ring), 0);
}

TEST(Predict, BetweenNodesTheSlowerLinkCounts) {
  const Links links{8, fast, slow};
  EXPECT_NEAR(all_reduce_seconds(links, 8, 100e6, AllReduceAlgorithm::ring), 2 * 7 * 3e-6 + 1.75 * 100e6 / 200e9, 1e-9);
  const double two_nodes = all_reduce_seconds(links, 16, 100e6, AllReduceAlgorithm::ring);
  EXPECT_NEAR(two_nodes, 2 * (2 * 15e-6 + 13 * 3e-6) + 1.875 * 100e6 / 10e9, 1e-9);
}

TEST(Predict, ATreeWinsForSmallBuffersOnManyRanks) {
  const Links links{8, fast, slow};
  for (const int ranks : {64, 1024, 8192}) {
    EXPECT_LT(all_reduce_seconds(links, ranks, 1e3, AllReduceAlgorithm::tree),
              all_reduce_seconds(links, ranks, 1e3, AllReduceAlgorithm::ring));
  }
  const double nodes_1024 = 2 * (7 * 15e-6 + 3 * 3e-6);  // log2 of 128 nodes, of 8 ranks
  EXPECT_NEAR(all_reduce_seconds(links, 1024, 0, AllReduceAlgorithm::tree), nodes_1024, 1e-9);
}

TEST(Predict, AnAllToAllSendsEachRankItsPart) {
  const Links links{8, fast, slow};
  EXPECT_EQ(all_to_all_seconds(links, 1, 1e6), 0);
  EXPECT_NEAR(all_to_all_seconds(links, 4, 400e6), 3 * 3e-6 + 300e6 / 200e9, 1e-9);
  // Of 16 ranks, the 8 of a node send 8 others each a 16th through the node's adapters.
  EXPECT_NEAR(all_to_all_seconds(links, 16, 160e6), 7 * 3e-6 + 8 * 15e-6 + 64 * 10e6 / 10e9, 1e-9);
}

constexpr StepEventKind wait = StepEventKind::wait, all_to_all = StepEventKind::all_to_all;

/// 0.1 s of which 0.01 s are an update, for which it waits.
MeasuredStep get_step(std::vector<MeasuredStep::Event> events) {
  MeasuredStep measured;
  measured.seconds = 0.1;
  measured.events = std::move(events);
  measured.events.push_back({0.09, wait});
  return measured;
}
MeasuredStep::Event sum(double at, double bytes) { return {at, StepEventKind::all_reduce, bytes}; }

TEST(Predict, BucketsThatAreReadyEarlyAreHidden) {
  const Links links{2, {0, 1e9}, slow};
  const ScaledStep hidden = estimate_scaled_step(get_step({sum(0.02, 20e6), sum(0.06, 20e6)}), links, 2);
  EXPECT_NEAR(hidden.exchange_seconds, 0.04, 1e-9);
  EXPECT_NEAR(hidden.exposed_seconds, 0, 1e-12);
  EXPECT_NEAR(hidden.step_seconds, 0.1, 1e-9);
  EXPECT_NEAR(hidden.efficiency, 1, 1e-9);
}

TEST(Predict, WhatComesAfterBackwardIsExposed) {
  const Links links{2, {0, 1e9}, slow};
  // The second waits for the first: 0.08 + 0.02, then 0.02 more.
  const ScaledStep exposed = estimate_scaled_step(get_step({sum(0.08, 20e6), sum(0.09, 20e6)}), links, 2);
  EXPECT_NEAR(exposed.exposed_seconds, 0.03, 1e-9);
  EXPECT_NEAR(exposed.efficiency, 0.1 / 0.13, 1e-9);
}

TEST(Predict, ComputingWaitsForWhatBlocksIt) {
  const Links links{2, {0, 1e9}, slow};
  const ScaledStep alone =
      estimate_scaled_step(get_step({sum(0, 5e6), {0, wait}, sum(0.01, 10e6), {0.01, wait}}), links, 2);
  EXPECT_NEAR(alone.exposed_seconds, 0.015, 1e-9);
  // What is ready after it comes later by as much, and so ends as long after backward as it would have.
  const ScaledStep both = estimate_scaled_step(get_step({sum(0.01, 10e6), {0.01, wait}, sum(0.08, 20e6)}), links, 2);
  EXPECT_NEAR(both.exposed_seconds, 0.01 + 0.01, 1e-9);
  EXPECT_NEAR(both.step_seconds, 0.12, 1e-9);
}

TEST(Predict, AllToAllsTakeTheirTurnAmongBuckets) {
  const Links links{4, {0, 1e9}, slow};
  const ScaledStep both = estimate_scaled_step(get_step({{0, all_to_all, 4e6}, {0, wait}, sum(0.09, 4e6)}), links, 4);
  EXPECT_NEAR(both.exchange_seconds, 3e-3 + 6e-3, 1e-9);
  EXPECT_NEAR(both.exposed_seconds, 3e-3 + 6e-3, 1e-9);
}

/// What starts at a step's end has until the wait of the next one.
TEST(Predict, AnExchangeBehindTheUpdateIsHiddenByTheNextStep) {
  const Links links{2, {0, 1e9}, slow};
  MeasuredStep measured = get_step({});
  measured.events.push_back(sum(0.1, 80e6));
  EXPECT_NEAR(estimate_scaled_step(measured, links, 2).step_seconds, 0.1, 1e-9);
  measured.events.back().bytes = 120e6;  // it ends 0.02 s after backward
  EXPECT_NEAR(estimate_scaled_step(measured, links, 2).step_seconds, 0.13, 1e-9);
}

/// The mean of the largest of n normal deviates, by tables.
TEST(Predict, NoiseMakesManyRanksWaitForTheSlowest) {
  MeasuredStep measured = get_step({sum(0.09, 0)});
  measured.stdev_seconds = 1e-3;
  const Links links{8, {0, 1e9}, {0, 1e9}};
  EXPECT_EQ(estimate_scaled_step(measured, links, 1).imbalance_seconds, 0);
  const double until_wait = 0.9;  // of the step's variation
  EXPECT_NEAR(estimate_scaled_step(measured, links, 2).imbalance_seconds, until_wait * 0.564e-3, 0.05e-3);
  EXPECT_NEAR(estimate_scaled_step(measured, links, 1000).imbalance_seconds, until_wait * 3.241e-3, 0.05e-3);
}

/// Nothing hides a rank that is always slow, a delay by a step either.
TEST(Predict, ARankThatIsAlwaysSlowSetsThePace) {
  const Links links{8, {0, 1e9}, {0, 1e9}};
  MeasuredStep synchronous = get_step({sum(0.09, 0)}), delayed = get_step({});
  delayed.events.push_back(sum(0.1, 0));
  for (MeasuredStep* step : {&synchronous, &delayed}) {
    step->slowest = 1.5;
    EXPECT_NEAR(estimate_scaled_step(*step, links, 100).step_seconds, 0.15, 1e-6);
    EXPECT_NEAR(estimate_scaled_step(*step, links, 100).imbalance_seconds, 0.05, 1e-6);
    EXPECT_NEAR(estimate_scaled_step(*step, links, 1).step_seconds, 0.1, 1e-9);
  }
}

/// A rank that need not wait for the others' present step waits only where it is a whole step ahead.
TEST(Predict, NoiseCostsLittleWhereUpdatesAreDelayed) {
  MeasuredStep measured = get_step({});
  measured.stdev_seconds = 3e-3;
  measured.events.push_back(sum(0.1, 0));
  const Links links{8, {0, 1e9}, {0, 1e9}};
  const double delayed = estimate_scaled_step(measured, links, 100).imbalance_seconds;
  const double each_step = estimate_scaled_step(
                               [&] {
                                 MeasuredStep synchronous = measured;
                                 synchronous.events = {sum(0.09, 0), {0.09, wait}};
                                 return synchronous;
                               }(),
                               links, 100)
                               .imbalance_seconds;
  EXPECT_LT(delayed, each_step / 4);
}

TEST(Predict, ReadsLinksAndNamesWhatIsMissing) {
  const TemporaryDirectory directory;
  const auto file = directory.path() / "links.yaml";
  std::ofstream(file) << "ranks_per_node: 8\ninside_node: {latency_us: 3, bandwidth_gb_s: 200}\n";
  const std::string message = get_error([&] { load_links(file); }, ExitCode::usage);
  EXPECT_NE(message.find("between_nodes"), std::string::npos) << message;
  std::ofstream(file, std::ios::app) << "between_nodes: {latency_us: 15, bandwidth_gb_s: 10}\n";
  const Links links = load_links(file);
  EXPECT_EQ(links.ranks_per_node, 8);
  EXPECT_DOUBLE_EQ(links.between.latency, 15e-6);
  EXPECT_DOUBLE_EQ(links.inside.bandwidth, 200e9);
}

}  // namespace
}  // namespace ptrain

// Arrivals at random times; what is asserted holds on however busy a machine.
#include "core/infer/server_scenario.h"

#include "core/base/errors.h"
#include "tests/error_message.h"

#include <gtest/gtest.h>

#include <chrono>
#include <thread>

namespace ptrain {
namespace {

constexpr double any_latency = 1e9;  // ms

TEST(ServerScenario, AnswersEveryArrivalOnceAndAtMostSoManyTogether) {
  std::int64_t answered = 0, largest = 0;
  const Server server{[&](std::int64_t count) { answered += count, largest = std::max(largest, count); }, 4};
  const Arrivals found = serve_arrivals(server, 1e6, any_latency, 0.001, 1);
  EXPECT_EQ(static_cast<std::int64_t>(found.latencies.size()), answered);
  EXPECT_GE(answered, 1000);
  EXPECT_LE(largest, 4);
  EXPECT_TRUE(found.held.met);
  EXPECT_EQ(found.held.over, 0);
}

TEST(ServerScenario, EndsOnceTooManyAreLate) {
  std::int64_t answered = 0;
  const Server server{[&](std::int64_t count) {
                        answered += count;
                        std::this_thread::sleep_for(std::chrono::milliseconds(2));
                      },
                      2};
  const Arrivals found = serve_arrivals(server, 1e6, 1.0, 0.01, 1);
  EXPECT_FALSE(found.held.met);
  EXPECT_LT(answered, 1000);  // of 10,000
}

TEST(ServerScenario, FindsARateThatIsHeld) {
  const Server server{[](std::int64_t) {}, 8};
  const ScenarioOptions options{.scenario = Scenario::server, .seconds = 0.001, .bound_ms = any_latency};
  std::vector<bool> tried;
  const Arrivals found = find_server_rate(server, options, [&](double, bool held) { tried.push_back(held); });
  EXPECT_TRUE(found.held.met);
  EXPECT_GT(found.rate, 0);
  EXPECT_GT(tried.size(), 1u);
  EXPECT_TRUE(tried.back());
}

TEST(ServerScenario, SaysWhereSingleSamplesTakeTooLong) {
  const Server server{[](std::int64_t) { std::this_thread::sleep_for(std::chrono::milliseconds(3)); }, 2};
  const ScenarioOptions options{.scenario = Scenario::server, .seconds = 0.001, .bound_ms = 1};
  const std::string message = get_error([&] { find_server_rate(server, options, [](double, bool) {}); });
  EXPECT_NE(message.find("--bound"), message.npos) << message;
}

}  // namespace
}  // namespace ptrain

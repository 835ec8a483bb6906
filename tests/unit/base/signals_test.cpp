// Signals as requests to stop, and when they end the process.
#include "core/base/signals.h"

#include <gtest/gtest.h>

#include <csignal>
#include <cstdlib>
#include <vector>

namespace ptrain {
namespace {

void raise_all(const std::vector<int>& signals) {
  const SignalGuard guard;
  for (const int signal : signals) std::raise(signal);
  std::exit(SignalGuard::received());
}

TEST(SignalGuardDeathTest, ASecondRequestEndsTheProcessWhicheverWasTheFirst) {
  EXPECT_EXIT(raise_all({SIGINT, SIGINT}), testing::KilledBySignal(SIGINT), "");
  EXPECT_EXIT(raise_all({SIGINT, SIGTERM}), testing::KilledBySignal(SIGTERM), "");
  EXPECT_EXIT(raise_all({SIGTERM, SIGINT}), testing::KilledBySignal(SIGINT), "");
  EXPECT_EXIT(raise_all({SIGUSR1, SIGTERM, SIGTERM}), testing::KilledBySignal(SIGTERM), "");
}

TEST(SignalGuardDeathTest, AFirstRequestAndWarningsAreRemembered) {
  EXPECT_EXIT(raise_all({SIGINT}), testing::ExitedWithCode(SIGINT), "");
  EXPECT_EXIT(raise_all({SIGXCPU, SIGXCPU, SIGTERM}), testing::ExitedWithCode(SIGXCPU), "");
}

}  // namespace
}  // namespace ptrain

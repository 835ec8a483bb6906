// Wall-clock intervals from the monotonic clock.
#pragma once

#include <chrono>

namespace ptrain {

class Stopwatch {
 public:
  /// Seconds since construction or the last restart().
  double seconds() const { return std::chrono::duration<double>(Clock::now() - start_).count(); }
  double restart() {
    const double elapsed = seconds();
    start_ = Clock::now();
    return elapsed;
  }

 private:
  using Clock = std::chrono::steady_clock;
  Clock::time_point start_ = Clock::now();
};

}  // namespace ptrain

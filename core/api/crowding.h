// Keeps OpenMP's threads from spinning while other work wants their cores, in programs whose environment is not ours.
#pragma once

#include <chrono>
#include <cstdint>
#include <memory>

namespace ptrain::api {

/// Notices that the calling threads of a session wait for cores, and lets threads that wait sleep early as long as that
/// lasts. libgomp spins at barriers for milliseconds, which alone on its cores is as fast as can be, but beside other
/// work keeps the threads that are waited for from running; it read how long when it was loaded. But it spins a
/// thousandth of that while it has more threads than the machine has cores: here a team that does nothing sees to it.
class Crowding {
 public:
  /// Call it after each computation, on the thread that computed.
  void observe(int threads);

 private:
  class IdleTeam;
  using Clock = std::chrono::steady_clock;

  static std::shared_ptr<IdleTeam> share_idle_team(int threads);

  std::int64_t thread_ = 0, waited_ = 0;  // the thread last seen, and its time of waiting for a core in ns
  Clock::time_point seen_{}, crowded_{};
  std::shared_ptr<IdleTeam> team_;
};

}  // namespace ptrain::api

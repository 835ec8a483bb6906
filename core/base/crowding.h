// Keeps OpenMP's threads from spinning while other work wants their cores.
#pragma once

#include <chrono>
#include <memory>
#include <mutex>

namespace ptrain {

/// Notices that computing threads wait for cores, and lets threads that wait at barriers sleep early as long as that
/// lasts. libgomp spins for milliseconds, which alone on its cores is as fast as can be, but beside other work keeps
/// the threads that are waited for from running; it read how long when it was loaded. But it spins a thousandth of that
/// while it has more threads than the machine has cores: here a team that does nothing sees to it.
/// GOMP_SPINCOUNT and OMP_WAIT_POLICY of the user hold.
class Crowding {
 public:
  /// Call it before each computation, on the thread that computes.
  void observe();

  /// Whether threads that wait sleep early.
  bool shortens_spinning() const;

 private:
  class IdleTeam;
  using Clock = std::chrono::steady_clock;

  static std::shared_ptr<IdleTeam> share_idle_team();

  mutable std::mutex mutex_;
  Clock::time_point crowded_{};
  std::shared_ptr<IdleTeam> team_;
};

}  // namespace ptrain

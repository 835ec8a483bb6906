// The current activity of a rank, visible to the others at any moment, and the timeout after which a rank without
// progress counts as hung.
#pragma once

#include <atomic>
#include <chrono>
#include <cstdint>
#include <string>
#include <vector>

namespace ptrain {

/// Written by a rank's training thread without a lock or an allocation; read by any thread.
struct RankActivity {
  std::atomic<std::uint64_t> progress{0};       // changes whenever the rank does something
  std::atomic<int> busy{0};                     // above 0: in an operation of unlimited duration, such as writing a
                                                // checkpoint
  std::atomic<const char*> action{"starting"};  // a literal
  std::atomic<std::int64_t> step{0};            // training step, counted from 1; 0: none yet

  /// "step 12: forward and backward"
  std::string text() const;
};

/// "step 12: forward and backward", or `action` alone before the first step.
std::string activity_text(std::int64_t step, const char* action);

/// Detects which rank keeps the others waiting without progress.
class HangDetector {
 public:
  using Clock = std::chrono::steady_clock;
  HangDetector(int world_size, double timeout_seconds)
      : timeout_(timeout_seconds), seen_(static_cast<std::size_t>(world_size)) {}

  /// A wait begins: restarts the timeout of every rank.
  void restart();
  /// True when `rank`'s progress has stayed the same for the timeout; a busy rank never hangs.
  bool has_hung(int rank, std::uint64_t progress, bool busy);
  double timeout_seconds() const { return timeout_; }

 private:
  struct Seen {
    std::uint64_t progress = 0;
    Clock::time_point since;
  };
  double timeout_;
  std::vector<Seen> seen_;
};

}  // namespace ptrain

// What a rank is doing, as the others may see it at any moment, and how long they put up with seeing no change.
#pragma once

#include <atomic>
#include <chrono>
#include <cstdint>
#include <string>
#include <vector>

namespace ptrain {

/// Written by a rank's training thread without a lock or an allocation; read by any thread.
struct RankActivity {
  std::atomic<std::uint64_t> progress{0};  // changes whenever the rank does something
  std::atomic<int> busy{0};                // above 0: in something that may take any time, such as writing a checkpoint
  std::atomic<const char*> action{"starting"};  // a literal
  std::atomic<std::int64_t> step{0};            // training step, counted from 1; 0: none yet

  /// "step 12: forward and backward"
  std::string text() const;
};

/// "step 12: forward and backward", or `action` alone before the first step.
std::string activity_text(std::int64_t step, const char* action);

/// Tells which rank keeps the others waiting without a sign of work.
class HangDetector {
 public:
  using Clock = std::chrono::steady_clock;
  HangDetector(int world_size, double timeout_seconds)
      : timeout_(timeout_seconds), seen_(static_cast<std::size_t>(world_size)) {}

  /// A wait begins: every rank has the whole time again.
  void restart();
  /// True when `rank`'s progress has stayed the same for the timeout; a busy rank has any time.
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

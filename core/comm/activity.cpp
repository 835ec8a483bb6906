#include "core/comm/activity.h"

#include <fmt/format.h>

namespace ptrain {

std::string activity_text(std::int64_t step, const char* action) {
  return step > 0 ? fmt::format("step {}: {}", step, action) : std::string(action);
}

std::string RankActivity::text() const { return activity_text(step.load(), action.load()); }

void HangDetector::restart() {
  const auto now = Clock::now();
  for (Seen& seen : seen_) seen.since = now;
}

bool HangDetector::has_hung(int rank, std::uint64_t progress, bool busy) {
  Seen& seen = seen_[static_cast<std::size_t>(rank)];
  const auto now = Clock::now();
  if (busy || progress != seen.progress) seen = {progress, now};
  return std::chrono::duration<double>(now - seen.since).count() > timeout_;
}

}  // namespace ptrain

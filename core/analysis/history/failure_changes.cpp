#include "core/analysis/history/failure_changes.h"

namespace ptrain {

std::optional<FailureChange> find_failure_change(std::span<const CountsAt> history) {
  std::optional<FailureChange> found;
  double largest = 0;
  for (std::size_t cut = 1; cut < history.size(); ++cut) {
    FailureChange change;
    change.since = history[cut].label;
    for (const CountsAt& at : history.first(cut)) change.before += at.counts;
    for (const CountsAt& at : history.subspan(cut)) change.after += at.counts;
    if (test_failures(change.before, change.after) != FailureVerdict::clearly_more) continue;
    const double rise = change.after.failed_part() - change.before.failed_part();
    if (rise <= largest) continue;
    largest = rise;
    found = change;
  }
  return found;
}

}  // namespace ptrain

// Finds cases that fail more often than before.
#pragma once

#include "core/analysis/failures.h"

#include <optional>
#include <span>
#include <string>
#include <vector>

namespace ptrain {

/// How a case's runs ended at one baseline.
struct CountsAt {
  std::string label;
  RunCounts counts;
};

/// From the baseline labelled `since` on, a clearly larger fraction of a case's runs fails than before.
struct FailureChange {
  std::string suite, machine, case_name;
  std::string since;
  RunCounts before, after;

  void describe(Fields& field) {
    field("suite", suite, "");
    field("machine", machine, "");
    field("case", case_name, "");
    field("since", since, "label of the first baseline at which more runs fail");
    field("before", before, "how the runs of all baselines before it ended");
    field("after", after, "how the runs of it and later baselines ended");
  }
};

/// The latest such change, by test_failures() at every possible split of the history of baselines, which is in order.
/// Sets only labels and counts of the result.
std::optional<FailureChange> find_failure_change(std::span<const CountsAt> history);

}  // namespace ptrain

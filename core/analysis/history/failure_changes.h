// Cases that fail more often than they did.
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

/// From the baseline labelled `since` on a clearly larger share of a case's runs fails than at all before it.
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
    field("after", after, "how its runs and those of later ones ended");
  }
};

/// The latest such change, by test_failures() of each place where a history of baselines, in their order, can be cut.
/// Only `label`s and counts of the result are set.
std::optional<FailureChange> find_failure_change(std::span<const CountsAt> history);

}  // namespace ptrain

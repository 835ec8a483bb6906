// What differs between the runs of two sets that are to be compared, and whether that forbids a verdict.
#pragma once

#include "core/analysis/run_set.h"

#include <set>
#include <string>
#include <vector>

namespace ptrain {

/// What may differ only when it is allowed by name; `note` never forbids.
enum class DifferenceKind { hardware, config, data, note };
/// "hardware", "config", "data", "note"
std::string_view to_string(DifferenceKind kind);
/// Throws Error{usage} for a name that is none of the three that can be allowed.
DifferenceKind difference_kind_from_name(std::string_view name);

struct Difference {
  DifferenceKind kind = DifferenceKind::note;
  std::string what;  // "environment.cpu.model", "train.optimizer.lr"
  std::string base, changed;

  void describe(Fields& field) {
    field.choice("kind", kind, DifferenceKind::note, "");
    field("what", what, "");
    field("base", base, "");
    field("new", changed, "");
  }
};

/// Differences between two reports, most serious first. hardware: processor, accelerators, usable cores, threads,
/// memory. config: keys that define the work, the seed aside. data: keys of `data.`. note: libraries (cuDNN, oneDNN,
/// drivers), frequency governor, operating system, program, compiler, kernel choices, and keys that define no work.
std::vector<Difference> find_differences(const Report& base, const Report& changed);

}  // namespace ptrain

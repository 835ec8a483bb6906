// Differences between the runs of two sets, and whether they forbid a comparison.
#pragma once

#include "core/analysis/run_set.h"

#include <set>
#include <string>
#include <vector>

namespace ptrain {

/// hardware, config and data forbid a verdict unless allowed by name; `note` never does.
enum class DifferenceKind { hardware, config, data, note };
/// "hardware", "config", "data", "note"
std::string_view to_string(DifferenceKind kind);
/// Throws Error{usage} for a name other than the three that can be allowed.
DifferenceKind difference_kind_from_name(std::string_view name);

struct Difference {
  DifferenceKind kind = DifferenceKind::note;
  std::string what;  // "environment.cpu.model", "train.optimizer.lr"
  std::string base, changed;

  bool operator==(const Difference&) const = default;
  void describe(Fields& field) {
    field.choice("kind", kind, DifferenceKind::note, "");
    field("what", what, "");
    field("base", base, "");
    field("new", changed, "");
  }
};

/// Differences between two reports, most serious first. hardware: processor, accelerators, usable cores, threads,
/// memory. config: keys that define the work, except the seed. data: keys of `data.`. note: libraries (cuDNN, oneDNN,
/// drivers), frequency governor, operating system, program, compiler, kernel choices, and keys that do not define the
/// work.
std::vector<Difference> find_differences(const Report& base, const Report& changed);

}  // namespace ptrain

// Groups cases for figures: those with the same unit together, factorials by their axes.
#pragma once

#include "core/analysis/run_set.h"

#include <span>
#include <string>
#include <vector>

namespace ptrain::html {

struct PlacedCase {
  const MeasuredCase* item = nullptr;
  std::vector<const MeasuredRun*> good, ended;  // for speeds, and for all else
  const MeasuredRun* reported = nullptr;        // null: no report to draw curves from
  std::string panel, row;                       // titles; equal titles share a panel, or a row within it
  std::size_t series = 0;

  const Report* report() const { return reported == nullptr ? nullptr : &*reported->report; }
  /// Panel, row and series in words.
  std::string label;
};

struct CaseGroup {
  std::string title;                // empty for the only group
  std::string unit;                 // of its throughput values
  std::vector<std::string> series;  // names, by colour; empty: cases have no colours of their own
  std::vector<PlacedCase> cases;

  /// Cases by panel, in order of appearance.
  std::vector<std::vector<const PlacedCase*>> panels() const;
};

/// A factorial's first axis of at most eight values gives the colours, its last other axis the rows, and those between
/// the panels. Separate groups hold different sweeps and units (images/s, sequences/s); reports without a sweep form
/// one group.
std::vector<CaseGroup> case_groups(std::span<const RunSet> sets);

}  // namespace ptrain::html

// Searches the commit with which a figure changed in few runs: says which commit to measure next, and when it is found.
#pragma once

#include "core/analysis/bisect/change_location.h"

#include <cstddef>
#include <cstdint>
#include <set>
#include <string_view>
#include <vector>

namespace ptrain {

struct SearchRule {
  double confidence = 0.95;  // probability of the answer
  double threshold = 0.01;   // smaller differences of the ends are none; in the unit of the values
  std::int64_t most_runs = 500;
  std::uint64_t seed = 1;  // of the order of runs
};

/// undecided: `most_runs` did not suffice.
enum class SearchState { comparing_ends, searching, found, no_difference, undecided };

/// Commits that runs cannot tell apart, since those between them are skipped.
struct CommitRange {
  std::size_t first = 0, last = 0;
  double probability = 0;  // that the change came with one of them
};

/// First both ends are measured in pairs, in random order, until compute_change_evidence() is such that ends of equal
/// speed pass as different with a probability of a fifth of what the confidence leaves, or the 95 % interval of their
/// difference lies within the threshold. Then commits between them are measured by the posterior of locate_change():
/// each run is of the commit that tells most, a measured one unless another tells much more, since a build takes longer
/// than a run. A third of the runs is of an end, at random places, by which drift of the machine is known. The search
/// ends when a commit has the probability wanted, and it and the one before it were measured twice.
class ChangeSearch {
 public:
  /// Of `last` commits after the good end, 0; `last` is the bad end.
  ChangeSearch(std::size_t last, const SearchRule& rule);

  SearchState state() const { return state_; }
  /// The commit to measure next, while comparing ends or searching. Equal runs and skips give equal answers.
  std::size_t next() const;
  void add(const CommitRun& run);
  /// A commit between the ends that cannot be measured; its runs so far still count.
  void skip(std::size_t commit);

  /// The likeliest commits.
  CommitRange suspects() const;
  /// The posterior; of the ends' runs alone before the search.
  const ChangeLocation& location() const { return location_; }
  /// Whether the ends are known to differ.
  bool found_difference() const { return compared_ > 0; }
  const std::vector<CommitRun>& runs() const { return runs_; }
  std::int64_t count_runs(std::size_t commit) const { return counts_[commit]; }

 private:
  void compare_ends();
  void update();
  bool is_end_due() const;
  bool is_measurable(std::size_t commit) const { return !skipped_.contains(commit); }
  std::uint64_t draw(std::uint64_t index) const;
  std::size_t choose_end(std::uint64_t index) const;
  std::size_t choose_commit() const;
  /// The suspects' end, or the commit before them, that lacks runs; 0 for none.
  std::size_t find_unconfirmed(const CommitRange& range) const;

  std::size_t last_;
  SearchRule rule_;
  SearchState state_ = SearchState::comparing_ends;
  std::vector<CommitRun> runs_;
  std::vector<double> good_, bad_;  // values of the ends while they are compared
  std::vector<std::int64_t> counts_;
  std::set<std::size_t> skipped_;
  ChangeLocation location_;
  std::size_t compared_ = 0;  // runs when the difference of the ends was established
};

}  // namespace ptrain

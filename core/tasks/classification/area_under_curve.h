// The area under the ROC curve, exact and in bounded memory.
#pragma once

#include "core/io/temporary_file.h"

#include <array>
#include <cstddef>
#include <functional>
#include <memory>
#include <optional>
#include <span>
#include <vector>

namespace ptrain {

/// Keeps the scores of samples, eight bytes each: up to `limit` of them in memory, and more as sorted runs in a
/// temporary file, which are merged to rank them.
class AreaUnderCurve {
 public:
  static constexpr std::size_t default_limit = 1 << 20;
  explicit AreaUnderCurve(std::size_t limit = default_limit) : limit_(limit) {}

  struct Area {
    std::optional<double> value, standard_error;
  };

  /// `score` is a number, larger for samples that are more likely positive. Throws as TemporaryFile does.
  void add(double score, bool positive);

  /// All scores in parts of at most `limit` + 1 numbers each, which merge() adds to another object.
  std::size_t parts() const { return runs_.size() + tails_.size(); }
  std::vector<double> part(std::size_t index) const;
  void merge(std::span<const double> part);

  /// The share of pairs of a positive and a negative sample in which the positive has the higher score, ties counted
  /// half, with Hanley and McNeil's error; absent without samples of both kinds.
  Area compute() const;

 private:
  struct Run {
    std::size_t offset, scores;  // bytes in the file; its length
    bool positive;
  };
  class Cursor;

  std::vector<double> read(const Run& run, std::size_t first, std::size_t scores) const;
  /// Moves what is in memory into runs.
  void spill();
  /// Calls `take` for each score, in ascending order.
  void visit_ascending(const std::function<void(double score, bool positive)>& take) const;

  std::size_t limit_;
  std::array<std::vector<double>, 2> tails_;  // in memory: negative, positive
  std::vector<Run> runs_;
  std::unique_ptr<TemporaryFile> file_;
};

}  // namespace ptrain

// The options of the commands that compare two sets of runs: what counts as a change, and the form of the output.
#pragma once

#include "core/analysis/compare.h"

#include <CLI/CLI.hpp>

#include <string>
#include <vector>

namespace ptrain {

/// Must live as long as the command it was added to.
class ComparisonOptions {
 public:
  /// Adds --threshold, --confidence, --accuracy-margin, --allow, --format, --json and --markdown.
  void add_to(CLI::App& command);
  /// Throws Error{usage} for an unknown kind of difference.
  CompareRule rule() const;
  /// Prints a comparison and throws Error{regressed} or Error{inconclusive} if that is its outcome.
  void print(const Comparison& comparison) const;

 private:
  double threshold_ = 2;
  double confidence_ = 95;
  double accuracy_margin_ = 0.01;
  std::vector<std::string> allowed_;
  std::string format_ = "text";
};

}  // namespace ptrain

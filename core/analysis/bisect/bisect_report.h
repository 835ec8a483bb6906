// What `ptrain bisect` found: the commit with which a figure changed, and how sure that is.
#pragma once

#include "core/analysis/bisect/change_search.h"
#include "core/analysis/response.h"
#include "core/base/errors.h"

#include <cstdint>
#include <optional>
#include <string>
#include <vector>

namespace ptrain {

/// "comparing ends", "searching", "found", "no difference", "undecided"
std::string_view to_string(SearchState state);

/// A commit of the series, as far as it was of interest.
/// The first ten digits of a commit's hash, which people and folders name it by.
std::string short_hash(const std::string& hash);

struct BisectCommit {
  std::string hash, subject;
  double probability = 0;
  std::int64_t runs = 0;
  std::optional<double> value;

  /// "1a2b3c4d5e \"subject\""
  std::string text() const;
  void describe(Fields& field) {
    field("hash", hash, "");
    field("subject", subject, "first line of its message");
    field("probability", probability, "that the change came with it");
    field("runs", runs, "number of measured runs");
    field.any_sign("value", value, "centre of its runs in `unit`; null: not measured");
  }
};

struct SkippedCommit {
  std::string hash, subject, reason;

  void describe(Fields& field) {
    field("hash", hash, "");
    field("subject", subject, "");
    field("reason", reason, "");
  }
};

struct BisectReport {
  std::string good, bad;  // as given
  std::string build;
  SearchState state = SearchState::searching;
  ResponseMeasure measure;
  std::string unit;
  double confidence = 0.95;
  double threshold_percent = 1;
  std::optional<Interval> change;  // 95 %, from good to bad; absent: never measured
  double probability = 0;          // of the suspects together
  std::vector<BisectCommit> suspects;
  std::vector<BisectCommit> measured;  // in the order of history
  std::vector<SkippedCommit> skipped;
  std::int64_t commits = 0;  // after good
  std::int64_t runs = 0, builds = 0;

  /// ok when found, else inconclusive.
  ExitCode outcome() const;

  void describe(Fields& field) {
    std::int64_t exit_code = static_cast<int>(outcome());
    std::string metric = measure.metric ? measure.metric->name : "";
    std::string change_unit = measure.in_points() ? "points" : "%";
    field.document("ptrain.bisect/1", "The commit with which a figure changed.");
    field("good", good, "first revision, as given");
    field("bad", bad, "last revision, as given");
    field("build", build, "command that builds a commit; empty: none");
    field.choice("state", state, SearchState::undecided, "");
    field("exit_code", exit_code, "0 or 5");
    field.choice("response", measure.response, Response::time_to_accuracy, "what was measured");
    field("metric", metric, "primary metric, for accuracy; else empty");
    field("unit", unit, "of the commits' values");
    field("confidence", confidence, "probability that ends the search");
    field("threshold", threshold_percent, "smaller differences of the ends are none; in `change_unit`");
    field("change_unit", change_unit, "% or points");
    field("change", change, "from good to bad, with a 95 % interval; null: not measured");
    field("probability", probability, "that the change came with one of the suspects");
    field("suspects", suspects, "one, or more that cannot be told apart");
    field("measured", measured, "in the order of history");
    field("skipped", skipped, "commits that could not be measured");
    field("commits", commits, "number of commits after good, to bad");
    field("runs", runs, "number of measured runs");
    field("builds", builds, "number of built commits");
  }
};

/// "-3.1 % (-3.6 to -2.6)"
std::string format_change(const BisectReport& report);
/// One sentence with the answer, then what was measured, a line each.
std::string bisect_text(const BisectReport& report);

}  // namespace ptrain

// How far a run has come, from the lines of its metrics.jsonl, one after the other: while it trains there is no report.
#pragma once

#include "core/analysis/html/charts.h"
#include "core/report/metrics_line.h"

#include <cstdint>
#include <deque>
#include <map>
#include <optional>
#include <string>

namespace ptrain {

class RunProgress {
 public:
  void add(const MetricsLine& line);

  std::int64_t step() const { return step_; }
  std::optional<double> started() const { return started_; }  // end of the first logged step, seconds since 1970
  std::optional<double> last_loss() const;
  /// Samples per second over the last logged steps; null before the first.
  std::optional<double> recent_speed() const;
  /// Seconds that a step takes, likewise.
  std::optional<double> recent_step_seconds() const;
  /// Name of the primary metric; empty: nothing was evaluated, or an older program wrote the lines.
  const std::string& primary() const { return primary_; }
  /// Its title, for display.
  const std::string& primary_title() const { return primary_title_; }
  /// The primary metric of the last evaluation; null without one.
  std::optional<double> last_primary() const;

  // Curves over the steps, without labels.
  html::Series loss, learning_rate;
  html::Series throughput;                          // samples per second over the steps that a line covers
  html::Series memory;                              // bytes in use
  std::map<std::string, html::Series> evaluations;  // by metric, the loss among them

 private:
  struct Covered {
    double samples = 0, seconds = 0;
    std::int64_t steps = 0;
  };
  void add_step(const StepLine& line);
  void add_evaluation(const EvaluationLine& line);
  Covered sum_recent() const;

  std::int64_t step_ = 0;
  std::optional<double> started_;
  std::string primary_, primary_title_;
  std::deque<Covered> recent_;
};

}  // namespace ptrain

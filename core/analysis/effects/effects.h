// Effects of each flag of a benchmark: main effects and interactions of its axes on speed, memory and accuracy.
#pragma once

#include "core/analysis/intervals.h"
#include "core/analysis/response.h"
#include "core/report/metric.h"

#include <cstdint>
#include <optional>
#include <string>
#include <vector>

namespace ptrain {

struct Effect {
  Response response = Response::throughput;
  std::string unit = "%";            // of the interval; "points" for a metric of at most 1
  std::vector<std::string> changes;  // "level: O0 -> O1"; one for a main effect, two for an interaction
  Interval interval;
  std::int64_t combinations = 0;
  std::int64_t runs = 0;  // good runs of the case that has the fewest

  void describe(Fields& field);
};

struct EffectsReport {
  std::string suite;
  SpeedEstimator estimator = SpeedEstimator::typical_step;
  std::optional<MetricInfo> metric;  // primary metric, used by Response::accuracy; absent: nothing was evaluated
  std::vector<Effect> effects;
  std::vector<std::string> notes;

  void describe(Fields& field) {
    field.document("ptrain.effects/1", "Effects of the axes of a benchmark.");
    field("suite", suite, "");
    field.choice("speed_estimator", estimator, SpeedEstimator::samples_over_time, "how a run's throughput is computed");
    std::string name = metric ? metric->name : std::string();
    field("metric", name, "primary metric, used for effects on accuracy; empty: none");
    field("effects", effects, "");
    field("notes", notes, "what is missing and why");
  }
};

/// An effect is the mean change from an axis's first value to another, over all combinations of the other axes with
/// good runs. A case is represented by the Hodges-Lehmann centre of its runs (of logarithms for speed and memory), as
/// in the table, or by its mean accuracy. An interaction is how much the second change differs under the first. The 95
/// % intervals are Student's, around the change of means (which cancels what slows a whole round). Their variance comes
/// from residuals after the case's mean (and the round's, where all cases have all rounds), pooled over the cases
/// (Montgomery, "Design and Analysis of Experiments", 8th ed., 3.5 and 4.1). Accuracy adds the error of its evaluation,
/// such as the binomial one of a fraction of samples. Listed cases form one axis. Throws Error{failed} when fewer than
/// two cases have good runs.
EffectsReport find_effects(const RunSet& runs);

/// Whether the interval excludes zero.
bool is_clear(const Effect& effect);
/// "throughput (typical step)"; for accuracy, the metric's title unless it is a fraction of samples.
std::string format_title(const EffectsReport& report, Response response);

/// One line per effect, aligned; for a terminal.
std::string effects_text(const EffectsReport& report);
std::string effects_markdown(const EffectsReport& report);
/// A tabular environment, then the notes as comments.
std::string effects_latex(const EffectsReport& report);

}  // namespace ptrain

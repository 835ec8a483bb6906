// What each flag of a benchmark does: main effects and interactions of its axes on speed, memory and accuracy.
#pragma once

#include "core/analysis/intervals.h"
#include "core/analysis/run_set.h"

#include <cstdint>
#include <string>
#include <vector>

namespace ptrain {

enum class Response { throughput, memory, accuracy };
/// "throughput", "memory", "accuracy"
std::string_view name_of(Response response);

struct Effect {
  Response response = Response::throughput;
  std::vector<std::string> changes;  // "level: O0 -> O1"; one for a main effect, two for an interaction
  Interval interval;                 // percent for throughput and memory, points for accuracy
  std::int64_t combinations = 0;

  void describe(Fields& field);
};

struct EffectsReport {
  std::string suite;
  std::vector<Effect> effects;
  std::vector<std::string> notes;

  void describe(Fields& field) {
    field.document("ptrain.effects/1", "What the axes of a benchmark do.");
    field("suite", suite, "");
    field("effects", effects, "");
    field("notes", notes, "what is missing and why");
  }
};

struct EffectsOptions {
  double confidence = 0.95;
  std::int64_t resamples = 4000;
  std::int64_t seed = 1;
};

/// An effect is the mean, over all combinations of the other axes whose runs were good, of the change from an axis's
/// first value to another (of logarithms for throughput, at the typical step, and memory). An interaction is how much
/// the second change differs under the first. Intervals are from a residual bootstrap: what is left of every run after
/// its case's mean (and its round's, where all cases have all rounds), scaled by the lost degrees of freedom and drawn
/// again with replacement (Davison and Hinkley, "Bootstrap Methods and their Application", 1997, 6.3). Listed cases are
/// one axis. Throws Error{failed} when fewer than two cases have good runs.
EffectsReport find_effects(const RunSet& runs, const EffectsOptions& options = {});

/// One line per effect, aligned; for a terminal.
std::string effects_text(const EffectsReport& report);
std::string effects_markdown(const EffectsReport& report);

}  // namespace ptrain

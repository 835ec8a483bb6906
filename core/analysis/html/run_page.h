// Sections of a run's page other than its figures.
#pragma once

#include "core/analysis/run_set.h"

#include <string>

namespace ptrain::html {

/// How the run ended, and its accuracy, speed, memory, utilization, time to its target and energy, as far as it has
/// them.
std::string headline(const Report& report);
/// The time of every op next to its minimum by the roofline; empty if ops were not timed.
std::string op_section(const Report& report);
/// Metrics of each class and the confusion matrix of the last evaluation; empty for many classes or without one.
std::string classification_section(const Report& report);
/// A table of the worst errors in the predictions.jsonl in the folder of a run's report.json, with their pictures or
/// texts; empty without such a file or without errors. Invalid lines and unreadable pictures are skipped.
std::string mistakes_section(const MeasuredRun& run);
/// Why the run ended, its notes, flags and their effect, the keys that differ from the defaults, and, folded, all of
/// them.
std::string configuration_section(const Report& report);

}  // namespace ptrain::html

// What a page tells of one run beside its figures.
#pragma once

#include "core/analysis/run_set.h"

#include <string>

namespace ptrain::html {

/// The time of every op against the least that the roofline allows; empty where ops were not timed.
std::string op_section(const Report& report);
/// How each class was answered at the last evaluation, and what it was taken for; empty of many classes or without one.
std::string classification_section(const Report& report);
/// A table of the worst mistakes in the predictions.jsonl beside a run's report.json, with their pictures or texts;
/// empty where there is no such file, or no mistake in it. Lines that are no predictions are passed over, and pictures
/// that cannot be read.
std::string mistakes_section(const MeasuredRun& run);
/// How the run ended, what its flags came to, its notes, and every key with the value that was used.
std::string configuration_section(const Report& report);

}  // namespace ptrain::html

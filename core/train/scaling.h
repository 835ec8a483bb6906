// Prepares a measured run for the scaling model: when each bucket of gradients is ready in a step.
#pragma once

#include "core/comm/scaling_model.h"
#include "core/model/model.h"
#include "core/train/plans/step_options.h"

#include <nlohmann/json.hpp>

#include <map>
#include <string>

namespace ptrain {

/// Seconds of a step on one rank, measured or estimated.
struct StepTimes {
  double mean = 0, stdev = 0;
  std::map<std::string, double> nodes;  // by name; empty: not known
};

/// Of the run of `report`. Throws Error{usage} when it lacks latency_ms or is from several ranks.
StepTimes reported_step_times(const nlohmann::json& report);

/// The step of `rows` samples that took `times`, on one rank, with what the ranks in `options` exchange. Its time is
/// distributed over the nodes of the graph by theirs, else by their arithmetic.
MeasuredStep divide_step(const StepOptions& options, std::int64_t rows, const Model& model, const StepTimes& times);

}  // namespace ptrain

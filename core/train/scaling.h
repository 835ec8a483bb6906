// Prepares a measured run for the scaling model: when each bucket of gradients is ready in a step.
#pragma once

#include "core/comm/scaling_model.h"
#include "core/model/model.h"
#include "core/train/plans/step_options.h"

#include <nlohmann/json.hpp>

namespace ptrain {

/// `report` is from a run of such steps of `rows` samples, but on one rank; the number of ranks that exchange does not
/// matter to buckets. Its step time is distributed over the nodes of the graph by their
/// measured times if present (output.per_op), else by their arithmetic. Throws Error{usage} when it lacks latency_ms or
/// is from several ranks.
MeasuredStep measured_step(const StepOptions& options, std::int64_t rows, const Model& model,
                           const nlohmann::json& report);

}  // namespace ptrain

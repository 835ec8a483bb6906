// Prepares a measured run for the scaling model: when each bucket of gradients is ready in a step.
#pragma once

#include "core/base/dtype.h"
#include "core/comm/scaling_model.h"
#include "core/config/config.h"
#include "core/model/model.h"

#include <nlohmann/json.hpp>

namespace ptrain {

/// `report` is from a run of `config` on one rank. Its step time is distributed over the nodes of the graph by their
/// measured times if present (output.per_op), else by their arithmetic. Throws Error{usage} when it lacks latency_ms or
/// is from several ranks.
MeasuredStep measured_step(const Config& config, DType preferred, const Model& model, const nlohmann::json& report);

}  // namespace ptrain

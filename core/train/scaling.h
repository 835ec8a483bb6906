// A measured run as the scaling model sees it: when in a step each bucket of gradients is ready.
#pragma once

#include "core/base/dtype.h"
#include "core/comm/scaling_model.h"
#include "core/config/config.h"
#include "core/model/model.h"

#include <nlohmann/json.hpp>

namespace ptrain {

/// `report` is that of a run of `config` on one rank. Its step time is spread over the nodes of the graph by their
/// measured times where it has them (output.per_op), else by their arithmetic. Throws Error{usage} when it lacks
/// latency_ms or is of several ranks.
MeasuredStep measured_step(const Config& config, DType preferred, const Model& model, const nlohmann::json& report);

}  // namespace ptrain

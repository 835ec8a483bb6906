// ptrain estimate --device GPU: predicts steps and the whole training on GPUs that need not be present.
#pragma once

#include "cli/scaling_estimate.h"

#include <nlohmann/json.hpp>

namespace ptrain {

/// Predicts for the GPU model `device` ("h200"): a step, its memory and the largest batch within `memory_bytes` (0:
/// what the GPU has), hours and energy of the training, also on each number of `scaling.ranks`. Throws Error{usage} if
/// the GPU is unknown.
nlohmann::json predict_on(const Config& config, const Workload& workload, const std::string& device,
                          std::int64_t memory_bytes, const ScalingOptions& scaling);
/// The same as text, the step by type of op.
std::string prediction_table(const nlohmann::json& prediction);

}  // namespace ptrain

// ptrain estimate --device GPU: predicts the time of a step on a GPU that need not be present.
#pragma once

#include "cli/open_workload.h"

#include <nlohmann/json.hpp>

namespace ptrain {

/// Predicts for the GPU model `device` ("h200"). Throws Error{usage} if unknown.
nlohmann::json predict_on(const Config& config, const Workload& workload, const std::string& device);
/// The same as text, by type of op.
std::string prediction_table(const nlohmann::json& prediction);

}  // namespace ptrain

// The part of `ptrain plan` that looks at more ranks than there are.
#pragma once

#include "cli/open_workload.h"

#include <nlohmann/json.hpp>

#include <string>
#include <vector>

namespace ptrain {

struct ScalingOptions {
  std::vector<int> ranks;
  std::string links;     // YAML, see core/comm/predict.h
  std::string measured;  // report of a run on one rank
};

/// The predictions as JSON, one object per number of ranks. Throws Error{usage} when a file is missing or does not fit.
nlohmann::json predict_scaling(const Config& config, const Workload& workload, const ScalingOptions& options);

/// The same as a table for people.
std::string scaling_table(const nlohmann::json& predictions);

}  // namespace ptrain

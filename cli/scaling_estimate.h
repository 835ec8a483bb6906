// ptrain estimate --ranks: predicts step times for more ranks than are available.
#pragma once

#include "cli/open_workload.h"
#include "core/train/scaling.h"

#include <nlohmann/json.hpp>

#include <string>
#include <vector>

namespace ptrain {

struct ScalingOptions {
  std::vector<int> ranks;
  std::string links;     // YAML, see core/comm/scaling_model.h
  std::string measured;  // report of a run on one rank
  double zipf = 0;       // of the frequencies of a table's rows, as count_rows_read()
  double straggler = 1;  // how many times as long one of the ranks computes
};

/// The predictions as JSON, one object per number of ranks, from the report `options.measured`. Throws Error{usage}
/// when a file is missing or invalid.
nlohmann::json predict_scaling(const Config& config, const Workload& workload, const ScalingOptions& options);
/// The same from the times of a step on one rank.
nlohmann::json predict_scaling(const Config& config, const Workload& workload, const ScalingOptions& options,
                               const StepTimes& times);

/// The same as a table for display.
std::string scaling_table(const nlohmann::json& predictions);

}  // namespace ptrain

// Prepares a measured run for the scaling model: when a step starts its exchanges, and waits for them.
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

/// What each rank sends in a step for divided tables whose rows travel once (exchange_unique_rows).
struct TableTraffic {
  double ids = 0, different_ids = 0;                       // of the rank's batch: in all, and how many differ
  double id_bytes = 0, row_bytes = 0, gradient_bytes = 0;  // what stays on the rank included
  double busiest = 1;                                      // as RowsRead, of the table where it is largest

  double bytes() const { return id_bytes + row_bytes + gradient_bytes; }
};

/// The traffic of a batch of `rows` samples whose ids are as frequent as count_rows_read() says.
TableTraffic count_table_traffic(const StepOptions& options, std::int64_t rows, const Model& model, double zipf = 0);

/// The step of `rows` samples that took `times`, on one rank, with what the ranks in `options` exchange and wait for:
/// of a table's rows as much as the busiest rank. Its time is distributed over the nodes of the graph by theirs, else
/// by their arithmetic.
MeasuredStep divide_step(const StepOptions& options, std::int64_t rows, const Model& model, const StepTimes& times,
                         double zipf = 0);

}  // namespace ptrain

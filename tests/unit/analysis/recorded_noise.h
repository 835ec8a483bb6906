// Step times recorded on a shared machine, for the tests of what is to be trusted there.
#pragma once

#include "core/report/json_file.h"

#include <vector>

namespace ptrain {

/// Typical steps of successive runs, in ms, and how many of them were measured in a row.
struct RecordedNoise {
  std::vector<double> step_ms;
  std::size_t row = 0;

  RecordedNoise() {
    const nlohmann::json noise = read_json(PTRAIN_SOURCE_DIR "/tests/trust/noise.json");
    noise.at("quantiles").at("0.1").get_to(step_ms);
    noise.at("runs_in_a_row").get_to(row);
  }
};

}  // namespace ptrain

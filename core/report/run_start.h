// run_start.json: what is known of a run before its first step, for those who look at it while it trains.
#pragma once

#include "core/report/figures.h"

#include <nlohmann/json.hpp>

#include <cstdint>
#include <string>

namespace ptrain {

struct RunStart {
  std::string started;
  std::int64_t planned_steps = 0;
  ModelReport model;
  AmpReport amp;
  nlohmann::json config;

  void describe(Fields& field) {
    field.document("ptrain.run_start/1", "What is known of a run before its first step.");
    field("started", started, "UTC");
    field("planned_steps", planned_steps, "");
    field("model", model, "");
    field("amp", amp, "precision in effect");
    field.any("config", config, "object", "the configuration, complete");
  }
};

}  // namespace ptrain

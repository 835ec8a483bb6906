// The lines of metrics.jsonl, each declared once: writing, reading and `ptrain schema metrics` follow from it.
#pragma once

#include "core/report/fields.h"

#include <nlohmann/json.hpp>

#include <cstdint>
#include <filesystem>
#include <limits>
#include <map>
#include <optional>
#include <string>
#include <variant>
#include <vector>

namespace ptrain {

/// After every train.log_every_steps steps.
struct StepLine {
  std::int64_t step = 0;
  double epoch = 0;
  double loss = std::numeric_limits<double>::quiet_NaN();
  double lr = 0;
  double step_ms = 0, reader_ms = 0, compute_ms = 0;
  std::int64_t samples = 0;
  std::vector<double> steps_ms;
  std::optional<std::int64_t> memory_bytes;
  std::optional<double> loss_scale;
  std::map<std::string, double> losses;
  std::optional<double> time;

  void describe(Fields& field) {
    field.about("a logged training step");
    field("step", step, "step, from 1");
    field("epoch", epoch, "passes over the data done");
    field.finite("loss", loss, "loss of the step; null: not finite");
    field("lr", lr, "learning rate of the step");
    field("step_ms", step_ms, "time of the step");
    field("reader_ms", reader_ms, "part of step_ms waiting for data");
    field("compute_ms", compute_ms, "part of step_ms computing on the device");
    field("samples", samples, "samples of the step, over all ranks");
    field("steps_ms", steps_ms, "times of all steps since the previous line");
    field.maybe("memory_bytes", memory_bytes, "memory in use after the step, if known");
    field.maybe("loss_scale", loss_scale, "loss scale of the next step, if there is a scaler");
    field.maybe("losses", losses, "terms of a sum of losses, by name, unweighted; those not finite are left out");
    field.maybe("time", time, "end of the step, in seconds since 1970");
  }

  /// Milliseconds of all steps that the line covers.
  double total_ms() const;
};

struct LoggedEvaluation {
  double loss = std::numeric_limits<double>::quiet_NaN();
  std::int64_t samples = 0;
  double seconds = 0;
  std::map<std::string, std::optional<double>> figures;

  void describe(Fields& field) {
    field.finite("loss", loss, "null: not finite, or none");
    field("samples", samples, "");
    field("seconds", seconds, "");
    field.others(figures, "a figure of the evaluation by its name in the report; null: undefined");
  }
};

/// After an evaluation.
struct EvaluationLine {
  std::int64_t step = 0;
  LoggedEvaluation eval;
  std::optional<double> time = {};
  std::optional<std::string> primary = {}, title = {};

  void describe(Fields& field) {
    field.about("an evaluation");
    field("step", step, "training steps before it");
    field("eval", eval, "results of the evaluation");
    field.maybe("time", time, "end of the evaluation, in seconds since 1970");
    field.maybe("primary", primary, "name of the primary metric; absent in older lines");
    field.maybe("title", title, "its title, for display");
  }
};

using MetricsLine = std::variant<StepLine, EvaluationLine>;

/// Converts a line to JSON; numbers that are not finite become null.
nlohmann::json to_json(const MetricsLine& line);
/// Returns nothing for JSON that is no such line.
std::optional<MetricsLine> parse_metrics_line(const nlohmann::json& line);
/// Reads the valid lines of a metrics.jsonl, in order; none when there is no such file.
std::vector<MetricsLine> read_metrics(const std::filesystem::path& metrics);
/// The JSON Schema of a line.
nlohmann::json metrics_schema();

}  // namespace ptrain

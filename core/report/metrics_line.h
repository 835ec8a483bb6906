// The lines of metrics.jsonl, each declared once: what a run writes, what is read back and `ptrain schema metrics`
// follow.
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

  void describe(Fields& field) {
    field.about("a step of the training that is logged");
    field("step", step, "counted from 1");
    field("epoch", epoch, "passes over the data that are done");
    field.finite("loss", loss, "of the step; null: not finite");
    field("lr", lr, "learning rate of the step");
    field("step_ms", step_ms, "time of the step");
    field("reader_ms", reader_ms, "of that, waiting for data");
    field("compute_ms", compute_ms, "of that, the device's work");
    field("samples", samples, "of the step, of all ranks");
    field("steps_ms", steps_ms, "times of all steps since the line before");
    field.maybe("memory_bytes", memory_bytes, "in use after the step, where that is known");
    field.maybe("loss_scale", loss_scale, "of the next step, where there is a scaler");
    field.maybe("losses", losses,
                "of several that the loss sums up, each by its name and before its weight; none that is not finite");
  }

  /// Milliseconds of all steps that the line stands for.
  double total_ms() const;
};

struct LoggedEvaluation {
  double loss = std::numeric_limits<double>::quiet_NaN();
  std::int64_t samples = 0;
  double seconds = 0;
  std::map<std::string, std::optional<double>> figures;

  void describe(Fields& field) {
    field.finite("loss", loss, "null: not finite");
    field("samples", samples, "");
    field("seconds", seconds, "");
    field.others(figures, "a figure of the evaluation by its name in the report; null where it has no meaning");
  }
};

/// After an evaluation.
struct EvaluationLine {
  std::int64_t step = 0;
  LoggedEvaluation eval;

  void describe(Fields& field) {
    field.about("an evaluation");
    field("step", step, "training steps done before it");
    field("eval", eval, "what it came to");
  }
};

using MetricsLine = std::variant<StepLine, EvaluationLine>;

/// The line as it is written; numbers that are not finite are null.
nlohmann::json to_json(const MetricsLine& line);
/// None for JSON that is no such line.
std::optional<MetricsLine> parse_metrics_line(const nlohmann::json& line);
/// The lines of a metrics.jsonl, in order, without what is none; none when there is no such file.
std::vector<MetricsLine> read_metrics(const std::filesystem::path& metrics);
/// The JSON Schema of a line.
nlohmann::json metrics_schema();

}  // namespace ptrain

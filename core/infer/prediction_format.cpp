#include "core/infer/prediction_format.h"

#include "core/config/text.h"
#include "core/report/csv.h"

#include <fmt/format.h>

namespace ptrain {
namespace {

std::string format_json_line(const std::string& input, const Prediction& answer) {
  Prediction::Json line{{"input", input}};
  line.update(answer.details);
  if (answer.has_label()) line["truth"] = answer.label;
  return line.dump(-1, ' ', false, Prediction::Json::error_handler_t::replace) + "\n";
}

std::string format_csv_line(const std::string& input, const Prediction& answer) {
  std::string line = csv_field(input) + "," + csv_field(format_answer(answer.label));
  for (const std::string& cell : answer.cells) line += "," + csv_field(cell);
  return line + "\n";
}

}  // namespace

std::string format_header(PredictionFormat format, const std::vector<std::string>& columns) {
  if (format != PredictionFormat::csv) return {};
  std::string header = "input,truth";
  for (const std::string& column : columns) header += "," + csv_field(column);
  return header + "\n";
}

std::string format_prediction(PredictionFormat format, const std::string& input, const Prediction& answer) {
  switch (format) {
    case PredictionFormat::text:
      return fmt::format("{}: {}{}\n", escape_controls(input), answer.text,
                         answer.is_wrong() ? fmt::format("  (is {})", format_answer(answer.label)) : "");
    case PredictionFormat::jsonl:
      return format_json_line(input, answer);
    case PredictionFormat::csv:
      return format_csv_line(input, answer);
  }
  return {};
}

}  // namespace ptrain

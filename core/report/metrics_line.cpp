#include "core/report/metrics_line.h"

#include "core/io/atomic_file.h"

#include <numeric>
#include <sstream>

namespace ptrain {

using nlohmann::json;

double StepLine::total_ms() const {
  return steps_ms.empty() ? step_ms : std::accumulate(steps_ms.begin(), steps_ms.end(), 0.0);
}

json to_json(const MetricsLine& line) {
  return std::visit([](const auto& kind) { return write_fields(kind); }, line);
}

std::optional<MetricsLine> parse_metrics_line(const json& line) {
  if (!line.is_object() || !line.contains("step")) return std::nullopt;
  try {
    if (line.contains("eval")) return read_fields<EvaluationLine>(line);
    return read_fields<StepLine>(line);
  } catch (const json::exception&) {  // written by another program
    return std::nullopt;
  }
}

std::vector<MetricsLine> read_metrics(const std::filesystem::path& metrics) {
  std::vector<MetricsLine> entries;
  std::error_code error;
  if (!std::filesystem::exists(metrics, error)) return entries;
  std::istringstream lines(read_file(metrics));
  for (std::string text; std::getline(lines, text);) {
    std::optional<MetricsLine> line = parse_metrics_line(json::parse(text, nullptr, false));
    if (line) entries.push_back(*std::move(line));
  }
  return entries;
}

json metrics_schema() {
  return {{"$schema", "https://json-schema.org/draft/2020-12/schema"},
          {"title", "ptrain.metrics/1"},
          {"description", "a line of metrics.jsonl, which a run writes during training"},
          {"anyOf", {schema_of_fields<StepLine>(), schema_of_fields<EvaluationLine>()}}};
}

}  // namespace ptrain

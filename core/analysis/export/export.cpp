#include "core/analysis/export/export.h"

#include "core/analysis/run_record.h"

#include <algorithm>
#include <cctype>
#include <ctime>

namespace ptrain {

using nlohmann::json;

const std::vector<Exporter>& exporters() {
  static const std::vector<Exporter> list = {
      {"tipc", "PaddlePaddle's TIPC: training log lines (ips:, batch_cost:) and the result as JSON", export_tipc},
      {"dllogger", "NVIDIA DLLogger: DLLL lines", export_dllogger},
      {"mllog", "MLPerf: :::MLLOG lines", export_mllog},
      {"timm", "timm's benchmark CSV", export_timm},
      {"prometheus", "a textfile for node_exporter", export_prometheus},
  };
  return list;
}

ExportInput read_export_input(const std::filesystem::path& path) {
  const std::filesystem::path file = std::filesystem::is_directory(path) ? path / "report.json" : path;
  ExportInput input;
  input.report = read_report(file);
  const bool named_by_folder = file.filename() == "report.json" && file.has_parent_path();
  input.name = named_by_folder ? file.parent_path().filename().string() : file.stem().string();
  if (!named_by_folder) return input;
  for (json& entry : read_metrics(file.parent_path() / "metrics.jsonl")) {
    if (exports::is_step(entry) || exports::is_evaluation(entry)) input.metrics.push_back(std::move(entry));
  }
  return input;
}

namespace exports {

double start_time(const Report& report) {
  std::tm time{};
  if (strptime(report.environment.time.c_str(), "%Y-%m-%dT%H:%M:%SZ", &time) == nullptr) return 0;
  return static_cast<double>(timegm(&time));
}

double samples_per_second(const Report& report) { return report.throughput ? report.throughput->per_device : 0.0; }

double total_samples_per_second(const Report& report) {
  return samples_per_second(report) * static_cast<double>(devices(report));
}

std::string model_family(const Report& report) {
  const std::string name = report.model.name.empty() ? config_of(report).model.name : report.model.name;
  return {name.begin(), std::find_if(name.begin(), name.end(), [](unsigned char c) { return std::isalpha(c) == 0; })};
}

double step_rate(const json& line) {
  const double ms = line.value("step_ms", 0.0);
  return ms > 0 ? line.value("samples", 0.0) / ms * 1e3 : 0.0;
}

double line_milliseconds(const json& line) {
  if (!line.contains("steps_ms")) return line.value("step_ms", 0.0);
  double sum = 0;
  for (const json& ms : line["steps_ms"]) sum += ms.get<double>();
  return sum;
}

bool is_step(const json& line) { return line.is_object() && line.contains("step") && line.contains("step_ms"); }
bool is_evaluation(const json& line) { return line.is_object() && line.contains("step") && line.contains("eval"); }

std::int64_t devices(const Report& report) { return config_of(report).dist.ranks; }

}  // namespace exports
}  // namespace ptrain

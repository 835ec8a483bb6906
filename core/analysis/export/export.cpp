#include "core/analysis/export/export.h"

#include "core/io/run_files.h"

#include <algorithm>
#include <cctype>
#include <ctime>

namespace ptrain {

const std::vector<Exporter>& exporters() {
  static const std::vector<Exporter> list = {
      {"tipc", "PaddlePaddle's TIPC: training log lines (ips:, batch_cost:) and the result as JSON", export_tipc},
      {"dllogger", "NVIDIA DLLogger: DLLL lines", export_dllogger},
      {"mllog", "MLPerf: :::MLLOG lines", export_mllog},
      {"timm", "timm's benchmark CSV", export_timm},
      {"prometheus", "a textfile for node_exporter", export_prometheus},
      {"tensorboard", "an event file, which TensorBoard reads if its name contains tfevents", export_tensorboard},
      {"visualdl", "an event file, which VisualDL reads if its name contains vdlrecords", export_visualdl},
  };
  return list;
}

ExportInput read_export_input(const std::filesystem::path& path) {
  const std::filesystem::path file = std::filesystem::is_directory(path) ? path / run_files::report : path;
  ExportInput input;
  input.report = read_report(file);
  const bool named_by_folder = file.filename() == run_files::report && file.has_parent_path();
  input.name = named_by_folder ? file.parent_path().filename().string() : file.stem().string();
  if (!named_by_folder) return input;
  input.metrics = read_metrics(file.parent_path() / run_files::metrics);
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
  const std::string name = report.model.name.empty() ? restore_config(report).model.entry.name : report.model.name;
  return {name.begin(), std::find_if(name.begin(), name.end(), [](unsigned char c) { return std::isalpha(c) == 0; })};
}

double step_rate(const StepLine& line) {
  return line.step_ms > 0 ? static_cast<double>(line.samples) / line.step_ms * 1e3 : 0.0;
}

std::int64_t devices(const Report& report) { return restore_config(report).dist.ranks; }

}  // namespace exports
}  // namespace ptrain

// Writes a report in the formats of other benchmark suites, for their dashboards and parsers.
#pragma once

#include "core/report/metrics_line.h"
#include "core/report/report.h"

#include <filesystem>
#include <string>
#include <string_view>
#include <vector>

namespace ptrain {

struct ExportInput {
  std::string name;  // folder or file of the run
  Report report;
  std::vector<MetricsLine> metrics;  // from metrics.jsonl in the same folder; empty without one
};

struct Exporter {
  std::string_view name;
  std::string_view help;
  std::string (*write)(const ExportInput& input);
};

/// tipc, dllogger, mllog, timm, prometheus, tensorboard, visualdl.
const std::vector<Exporter>& exporters();

/// Reads a report, or the folder that has report.json. Throws as read_document does.
ExportInput read_export_input(const std::filesystem::path& path);

/// One file per format.
std::string export_tipc(const ExportInput& input);
std::string export_dllogger(const ExportInput& input);
std::string export_mllog(const ExportInput& input);
std::string export_timm(const ExportInput& input);
std::string export_prometheus(const ExportInput& input);
std::string export_tensorboard(const ExportInput& input);
std::string export_visualdl(const ExportInput& input);

/// Values that several formats need.
namespace exports {

/// Seconds since 1970 of the report's start.
double start_time(const Report& report);
/// Samples per second and device; 0 when nothing was measured.
double samples_per_second(const Report& report);
/// Samples per second of all devices.
double total_samples_per_second(const Report& report);
/// Leading letters of a model's name, without the size after them.
std::string model_family(const Report& report);
/// Samples per second of one logged step; 0 when it has no time.
double step_rate(const StepLine& line);
/// Number of ranks.
std::int64_t devices(const Report& report);

}  // namespace exports
}  // namespace ptrain

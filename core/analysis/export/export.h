// A report in the dialects of other benchmark suites, so that their dashboards and parsers read ptrain's runs.
#pragma once

#include "core/report/metrics_line.h"
#include "core/report/report.h"

#include <filesystem>
#include <string>
#include <string_view>
#include <vector>

namespace ptrain {

struct ExportInput {
  std::string name;  // of the run: its folder or file
  Report report;
  std::vector<MetricsLine> metrics;  // of metrics.jsonl beside it; empty when there are none
};

struct Exporter {
  std::string_view name;
  std::string_view help;
  std::string (*write)(const ExportInput& input);
};

/// tipc, dllogger, mllog, timm, prometheus.
const std::vector<Exporter>& exporters();

/// A report, or the folder that has report.json. Throws as read_document does.
ExportInput read_export_input(const std::filesystem::path& path);

/// One file per dialect.
std::string export_tipc(const ExportInput& input);
std::string export_dllogger(const ExportInput& input);
std::string export_mllog(const ExportInput& input);
std::string export_timm(const ExportInput& input);
std::string export_prometheus(const ExportInput& input);

/// What several dialects ask of a report.
namespace exports {

/// Seconds since 1970 of the report's start.
double start_time(const Report& report);
/// Samples per second and device; 0 when nothing was measured.
double samples_per_second(const Report& report);
/// Samples per second of all devices.
double total_samples_per_second(const Report& report);
/// The letters that a model's name begins with, without the size behind them.
std::string model_family(const Report& report);
/// Samples per second of one logged step; 0 when it has no time.
double step_rate(const StepLine& line);
/// The ranks' number.
std::int64_t devices(const Report& report);

}  // namespace exports
}  // namespace ptrain

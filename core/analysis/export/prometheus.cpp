// Prometheus' text format, for node_exporter's textfile collector.
#include "core/analysis/export/export.h"

#include <fmt/format.h>

namespace ptrain {
namespace {

using nlohmann::json;

/// Escapes a label's value.
std::string escape_label(const std::string& value) {
  std::string text;
  for (const char c : value) {
    if (c == '\\' || c == '"') text += '\\';
    text += c == '\n' ? std::string("\\n") : std::string(1, c);
  }
  return text;
}

class Metrics {
 public:
  explicit Metrics(std::string labels) : labels_(std::move(labels)) {}

  void add(const char* name, const char* help, const json& value, const std::string& more = "") {
    if (name != last_) text_ += fmt::format("# HELP ptrain_{0} {1}\n# TYPE ptrain_{0} gauge\n", name, help);
    last_ = name;
    text_ += fmt::format("ptrain_{}{{{}{}}} {}\n", name, labels_, more, value.dump());
  }
  /// The step's time as a summary, of which _sum and _count are part.
  void add_summary(const char* name, const char* help, const Statistics& ms) {
    text_ += fmt::format("# HELP ptrain_{0} {1}\n# TYPE ptrain_{0} summary\n", name, help);
    const auto add_line = [&](const char* suffix, const std::string& more, double value) {
      text_ += fmt::format("ptrain_{}{}{{{}{}}} {}\n", name, suffix, labels_, more, json(value).dump());
    };
    for (const auto& [quantile, value] : {std::pair("0.5", ms.p50), {"0.9", ms.p90}, {"0.99", ms.p99}}) {
      add_line("", fmt::format(",quantile=\"{}\"", quantile), value * 1e-3);
    }
    add_line("_sum", "", ms.mean * static_cast<double>(ms.count) * 1e-3);
    add_line("_count", "", static_cast<double>(ms.count));
    last_ = name;
  }
  std::string take() { return std::move(text_); }

 private:
  std::string labels_;
  std::string text_;
  std::string last_;
};

}  // namespace

std::string export_prometheus(const ExportInput& input) {
  const Report& report = input.report;
  Metrics metrics(fmt::format("run=\"{}\",model=\"{}\",amp=\"{}\",dtype=\"{}\",config=\"{}\"", escape_label(input.name),
                              escape_label(report.model.name), escape_label(report.amp.level), report.amp.dtype,
                              escape_label(report.config_hash)));
  metrics.add("run_ok", "1 when the run ended well", report.status == RunStatus::ok ? 1 : 0);
  metrics.add("start_time_seconds", "start of the run, seconds since 1970", exports::start_time(report));
  metrics.add("wall_seconds", "time of the whole command", report.progress.wall_seconds);
  if (report.throughput) {
    metrics.add("samples_per_second", "samples over time of the measured steps", report.throughput->value);
  }
  if (report.latency_ms) metrics.add_summary("step_seconds", "time of a measured step", report.latency_ms->step);
  const auto add = [&](const char* name, const char* help, const auto& value) {
    if (value) metrics.add(name, help, *value);
  };
  metrics.add("memory_planned_bytes", "planned peak", report.memory.planned_peak_bytes);
  add("memory_measured_bytes", "measured peak", report.memory.measured_peak_bytes);
  add("loss", "training loss of the last step", report.loss.last);
  if (const MetricValue* primary = report.evaluation ? report.evaluation->primary() : nullptr) {
    const std::string help = primary->title + " of the last evaluation";
    add(primary->name.c_str(), help.c_str(), primary->value);
  }
  return metrics.take();
}

}  // namespace ptrain

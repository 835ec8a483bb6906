// Prometheus' text format, for node_exporter's textfile collector.
#include "core/analysis/export/export.h"

#include <fmt/format.h>

namespace ptrain {
namespace {

using nlohmann::json;

/// A label's value with what the format gives a meaning escaped.
std::string label_value(const std::string& value) {
  std::string text;
  for (const char c : value) {
    if (c == '\\' || c == '"') text += '\\';
    text += c == '\n' ? std::string("\\n") : std::string(1, c);
  }
  return text;
}

class Gauges {
 public:
  explicit Gauges(std::string labels) : labels_(std::move(labels)) {}

  void add(const char* name, const char* help, const json& value, const std::string& more = "") {
    if (!value.is_number()) return;
    if (name != last_) text_ += fmt::format("# HELP ptrain_{0} {1}\n# TYPE ptrain_{0} gauge\n", name, help);
    last_ = name;
    text_ += fmt::format("ptrain_{}{{{}{}}} {}\n", name, labels_, more, value.dump());
  }
  std::string take() { return std::move(text_); }

 private:
  std::string labels_;
  std::string text_;
  std::string last_;
};

}  // namespace

std::string export_prometheus(const ExportInput& input) {
  const json& report = input.report;
  Gauges gauges(fmt::format("run=\"{}\",model=\"{}\",amp=\"{}\",dtype=\"{}\",config=\"{}\"", label_value(input.name),
                            label_value(report.at("model").at("name")), label_value(report.at("amp").at("level")),
                            exports::precision(report), label_value(report.at("config_hash"))));
  gauges.add("run_ok", "1 when the run ended well", report.at("status") == "ok" ? 1 : 0);
  gauges.add("start_time_seconds", "start of the run, seconds since 1970", exports::start_time(report));
  gauges.add("wall_seconds", "time of the whole command", report.at("progress").at("wall_seconds"));
  if (!report.at("throughput").is_null()) {
    gauges.add("samples_per_second", "samples over time of the measured steps", report["throughput"].at("value"));
  }
  if (!report.at("latency_ms").is_null()) {
    for (const char* quantile : {"p50", "p90", "p99"}) {
      gauges.add("step_milliseconds", "time of a step", report["latency_ms"].at("step").at(quantile),
                 fmt::format(",quantile=\"0.{}\"", quantile + 1));
    }
  }
  gauges.add("memory_planned_bytes", "planned peak", report.at("memory").at("planned_peak_bytes"));
  gauges.add("memory_measured_bytes", "measured peak", report.at("memory").at("measured_peak_bytes"));
  gauges.add("loss", "training loss of the last step", report.at("loss").at("last"));
  if (!report.at("accuracy").is_null()) {
    gauges.add("top1", "accuracy of the last evaluation, 0 to 1", report["accuracy"].at("top1"));
  }
  return gauges.take();
}

}  // namespace ptrain

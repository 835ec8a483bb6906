// NVIDIA DLLogger's JSON stream: "DLLL {json}" lines of parameters, steps, evaluations and a summary.
#include "core/analysis/export/export.h"

#include <fmt/chrono.h>
#include <fmt/format.h>

#include <cmath>

namespace ptrain {
namespace {

using nlohmann::json;

class Stream {
 public:
  explicit Stream(double start) : start_(start) {}

  void write(double elapsed, const json& step, const json& data) {
    const double now = start_ + elapsed;
    const auto whole = static_cast<std::time_t>(now);
    const json line = {
        {"timestamp", fmt::format("{:.6f}", now)},
        {"datetime", fmt::format("{:%Y-%m-%d %H:%M:%S}.{:06.0f}", fmt::gmtime(whole), (now - std::floor(now)) * 1e6)},
        {"elapsedtime", fmt::format("{:.6f}", elapsed)},
        {"type", "LOG"},
        {"step", step},
        {"data", data}};
    text_ += "DLLL " + line.dump(-1, ' ', false, json::error_handler_t::replace) + "\n";
  }
  std::string take() { return std::move(text_); }

 private:
  double start_;
  std::string text_;
};

json make_step_data(const StepLine& line) {
  return {{"train.loss", line.loss},
          {"train.lr", line.lr},
          {"train.ips", exports::step_rate(line)},
          {"train.batch_time", line.step_ms * 1e-3},
          {"train.data_time", line.reader_ms * 1e-3},
          {"train.compute_time", line.compute_ms * 1e-3}};
}

json make_evaluation_data(const json& evaluation) {
  json data = json::object();
  for (const auto& [name, value] : evaluation.items()) {
    if (value.is_number() && name != "seconds" && name != "samples") data[fmt::format("val.{}", name)] = value;
  }
  return data;
}

json make_summary_data(const Report& report) {
  json data = {{"train.ips", exports::total_samples_per_second(report)},
               {"train.loss", report.loss.last ? json(*report.loss.last) : json(nullptr)},
               {"status", to_string(report.status)}};
  if (report.latency_ms) {
    data["train.batch_time"] = report.latency_ms->step.mean * 1e-3;
    data["train.data_time"] = report.latency_ms->reader.mean * 1e-3;
    data["train.compute_time"] = report.latency_ms->compute.mean * 1e-3;
  }
  if (report.evaluation) {
    for (const MetricValue& metric : report.evaluation->metrics) {
      if (metric.value) data[fmt::format("val.{}", metric.name)] = *metric.value;
    }
  }
  return data;
}

}  // namespace

std::string export_dllogger(const ExportInput& input) {
  const Report& report = input.report;
  Stream stream(exports::start_time(report));
  stream.write(0, "PARAMETER", report.config);
  double elapsed = report.progress.setup_seconds;
  for (const MetricsLine& line : input.metrics) {
    if (const auto* step = std::get_if<StepLine>(&line)) {
      elapsed += step->total_ms() * 1e-3;
      stream.write(elapsed, {static_cast<std::int64_t>(step->epoch), step->step}, make_step_data(*step));
    } else {
      const auto& evaluation = std::get<EvaluationLine>(line);
      elapsed += evaluation.eval.seconds;
      stream.write(elapsed, {evaluation.step}, make_evaluation_data(write_fields(evaluation.eval)));
    }
  }
  stream.write(report.progress.wall_seconds, json::array(), make_summary_data(report));
  return stream.take();
}

}  // namespace ptrain

// timm's benchmark table: one row of CSV under its column names.
#include "core/analysis/export/export.h"

#include <fmt/format.h>

namespace ptrain {

std::string export_timm(const ExportInput& input) {
  const nlohmann::json& report = input.report;
  const nlohmann::json& config = report.at("config");
  const nlohmann::json& latency = report.at("latency_ms");
  const double step_ms = latency.is_null() ? 0.0 : latency.at("step").at("mean").get<double>();
  const bool text = config.at("model").at("name") == "bert";
  return fmt::format(
      "model,train_samples_per_sec,train_step_time,train_batch_size,train_img_size,param_count\n"
      "{},{:.2f},{:.3f},{},{},{:.2f}\n",
      report.at("model").at("name").get<std::string>(), exports::samples_per_second(report) * exports::devices(report),
      step_ms, report.at("global_batch_size").get<std::int64_t>(),
      config.at("data").at(text ? "max_length" : "image_size").get<std::int64_t>(),
      report.at("model").at("parameters").get<double>() * 1e-6);
}

}  // namespace ptrain

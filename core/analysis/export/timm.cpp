// timm's benchmark table: one row of CSV under its column names.
#include "core/analysis/export/export.h"

#include <fmt/format.h>

namespace ptrain {

std::string export_timm(const ExportInput& input) {
  const Report& report = input.report;
  const DataConfig data = restore_config(report).data;
  const std::string size = reads(report) == DataKind::text    ? std::to_string(data.max_length)
                           : reads(report) == DataKind::image ? to_text(data.image_size)
                                                              : "0";
  return fmt::format(
      "model,train_samples_per_sec,train_step_time,train_batch_size,train_img_size,param_count\n"
      "{},{:.2f},{:.3f},{},{},{:.2f}\n",
      report.model.name, exports::total_samples_per_second(report),
      report.latency_ms ? report.latency_ms->step.mean : 0.0, report.global_batch_size, size,
      static_cast<double>(report.model.parameters) * 1e-6);
}

}  // namespace ptrain

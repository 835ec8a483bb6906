// PaddlePaddle's TIPC benchmark: a training log whose "ips:" its analysis scripts average, and the record they make.
#include "core/analysis/export/export.h"

#include <fmt/format.h>

#include <cmath>

namespace ptrain {
namespace {

using nlohmann::json;

/// Formats a step as PaddleClas and PaddleNLP log it; the scripts find each value as a separate word.
std::string format_step(const StepLine& line) {
  return fmt::format(
      "[Train] epoch: {:.3f} step: {} lr: {:.6g} loss: {} batch_cost: {:.5f} s reader_cost: {:.5f} s ips: {:.3f} "
      "samples/s\n",
      line.epoch, line.step, line.lr, std::isfinite(line.loss) ? fmt::format("{:.5f}", line.loss) : "nan",
      line.step_ms * 1e-3, line.reader_ms * 1e-3, exports::step_rate(line));
}

}  // namespace

std::string export_tipc(const ExportInput& input) {
  const Report& report = input.report;
  std::string text;
  for (const MetricsLine& line : input.metrics) {
    if (const auto* step = std::get_if<StepLine>(&line)) text += format_step(*step);
  }
  const std::int64_t ranks = exports::devices(report), batch = restore_config(report).data.batch_size;
  const std::string& precision = report.amp.dtype;
  const char* processes = ranks > 1 ? "MultiP" : "SingleP";
  const BuildInfo& build = report.environment.ptrain;
  const json record = {{"model_branch", "ptrain"},
                       {"model_commit", build.commit},
                       {"model_name", fmt::format("{}_bs{}_{}_{}_DP", report.model.name, batch, precision, processes)},
                       {"batch_size", batch},
                       {"fp_item", precision},
                       {"run_process_type", processes},
                       {"run_mode", "DP"},
                       {"convergence_value", report.loss.last ? json(*report.loss.last) : json(nullptr)},
                       {"convergence_key", "loss:"},
                       {"ips", std::round(exports::samples_per_second(report) * 1e3) / 1e3},
                       {"speed_unit", "samples/s"},
                       {"device_num", fmt::format("N1C{}", ranks)},
                       {"model_run_time", fmt::format("{:.0f}", report.progress.wall_seconds)},
                       {"frame_commit", build.commit},
                       {"frame_version", build.version}};
  return text + record.dump(-1, ' ', false, json::error_handler_t::replace) + "\n";
}

}  // namespace ptrain

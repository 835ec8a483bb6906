#include "cli/view/run_summary.h"

#include "core/analysis/speed.h"
#include "core/base/counted.h"

#include <fmt/format.h>

#include <algorithm>

namespace ptrain {
namespace {

std::string format_line(const char* what, const std::string& text) { return fmt::format("{:<10}{}\n", what, text); }

std::string format_mib(std::int64_t bytes) { return fmt::format("{} MiB", bytes >> 20); }

/// The measured steps among all of a run, which are its last ones: those before are its warm-up, or of a run that it
/// continues.
std::span<const double> select_measured(const Report& report, std::span<const double> step_ms) {
  const auto measured = static_cast<std::size_t>(report.latency_ms ? report.latency_ms->step.count : 0);
  return step_ms.last(std::min(measured, step_ms.size()));
}

std::string describe_speed(const Report& report, std::span<const double> step_ms) {
  const Throughput& throughput = *report.throughput;
  step_ms = select_measured(report, step_ms);
  std::string text = fmt::format("{:.4g} {}{}", throughput.value, throughput.unit, reach_text(block_interval(step_ms)));
  if (report.latency_ms) {
    const Statistics& step = report.latency_ms->step;
    text += fmt::format("; a step takes {:.4g} ms (median; p95 {:.4g}), {} measured", step.p50, step.p95, step.count);
  }
  return text;
}

std::string describe_memory(const MemoryReport& memory) {
  const std::string planned = format_mib(memory.planned_peak_bytes) + " planned";
  return memory.measured_peak_bytes
             ? fmt::format("{} at its peak, {}", format_mib(*memory.measured_peak_bytes), planned)
             : planned;
}

std::string describe_table(const TableReport& table) {
  std::string text = fmt::format("{} of {} rows in use", table.rows, table.capacity);
  if (table.evicted > 0) text += fmt::format(", {} evicted", table.evicted);
  if (table.unadmitted > 0) text += fmt::format("; {} before admission", counted(table.unadmitted, "occurrence"));
  return text;
}

std::string describe_accuracy(const Evaluation& evaluation) {
  return fmt::format("{}{}, of {}", evaluation.text(), evaluation.text_of_others(MetricView::full),
                     counted(evaluation.eval_samples, "sample"));
}

std::string describe_amp(const AmpReport& amp) {
  std::string text = precision_text(amp);
  if (!amp.reason.empty()) text += fmt::format(": {}, {}", amp.requested, amp.reason);
  if (amp.scaler.skipped_steps > 0)
    text += fmt::format("; {} skipped by the scaler", counted(amp.scaler.skipped_steps, "step"));
  return text;
}

std::string describe_flag(const std::string& name, const FlagState& state) {
  std::string text = fmt::format("{} {}", name, state.requested.dump());
  if (state.effective != state.requested) text += fmt::format(", in effect {}", state.effective.dump());
  return state.reason.empty() ? text : fmt::format("{} ({})", text, state.reason);
}

}  // namespace

std::string run_summary(const Report& report, std::span<const double> step_ms) {
  const ProgressReport& progress = report.progress;
  std::string text =
      format_line("run", fmt::format("{}, {} of {} steps, {:.4g} epochs, {}", report.model.name, progress.steps,
                                     progress.planned_steps, progress.epochs, to_string(report.status)));
  if (report.throughput) text += format_line("speed", describe_speed(report, step_ms));
  if (const OtherLoad* const load = report.environment.slowed_by()) {
    text += format_line("load", load->warning());
  }
  text += format_line("memory", describe_memory(report.memory));
  if (report.model.table) text += format_line("table", describe_table(*report.model.table));
  for (const auto& [split, samples] : progress.unread) text += format_line("unread", samples);
  if (report.evaluation) text += format_line("accuracy", describe_accuracy(*report.evaluation));
  if (report.best) {
    text += format_line("best", fmt::format("{} {:.4f} after step {}: {}", report.best->metric, report.best->value,
                                            report.best->step, report.best->folder));
  }
  text += format_line("amp", describe_amp(report.amp));
  const auto defaults = make_report(Config{}).flags;
  for (const auto& [name, state] : report.flags) {
    const bool asked_for = state.requested != defaults.at(name).requested;
    if (asked_for || !report.environment.devices.empty()) text += format_line("flag", describe_flag(name, state));
  }
  return text;
}

}  // namespace ptrain

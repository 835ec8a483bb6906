#include "cli/view/run_console.h"

#include "cli/view/event_log.h"
#include "cli/view/run_summary.h"
#include "core/base/counted.h"
#include "core/base/standard_streams.h"
#include "core/train/run_result.h"

#include <fmt/format.h>

#include <cstdio>

namespace ptrain {
namespace {

/// Suggests the usual next commands.
std::string suggest_commands(const Config& config) {
  const std::string& folder = config.output.dir;
  std::string text =
      fmt::format("next      ptrain show {0}; ptrain table {0} --format html --out {0}/index.html", folder);
  if (config.output.save) text += fmt::format("; ptrain infer {} INPUT", folder);
  return text + "\n";
}

}  // namespace

RunConsole::RunConsole(const Config& config, const ConsoleOptions& console, RankOutput shown)
    : config_(config),
      console_(console),
      progress_(make_progress(shown == RankOutput::full ? console.progress() : ProgressStyle::none,
                              config.train.log_every_steps)),
      prints_notes_(shown == RankOutput::full && console.verbosity() != Verbosity::quiet &&
                    console.progress() == ProgressStyle::none) {}

void RunConsole::on_start(const RunResult& prepared) {
  progress_->print_line(fmt::format("{} parameters, {:.2f} GFLOP per sample, {} MiB planned", prepared.parameters,
                                    prepared.flops_per_sample * 1e-9, prepared.planned_peak_bytes >> 20));
  event("start", {{"parameters", prepared.parameters},
                  {"flops_per_sample", prepared.flops_per_sample},
                  {"planned_peak_bytes", prepared.planned_peak_bytes},
                  {"first_step", prepared.first_step},
                  {"total_steps", prepared.total_steps}});
  progress_->begin(prepared.first_step);
}

void RunConsole::on_step(const Step& s) {
  samples_ += s.samples;
  seconds_ += s.step_seconds;
  reader_seconds_ += s.reader_seconds;
  ProgressUpdate update;
  update.step = s.step;
  update.total_steps = s.total;
  update.epoch = s.epochs;
  update.loss = s.loss;
  update.learning_rate = s.lr;
  update.samples_per_second = static_cast<double>(samples_) / seconds_;
  update.reader_share = reader_seconds_ / seconds_;
  if (s.loss_scale > 0) update.loss_scale = s.loss_scale;
  progress_->show_step(update);
}

void RunConsole::on_eval(const EvalResult& r) {
  const Evaluation& evaluation = r.evaluation;
  const std::string loss = r.loss ? fmt::format(", loss {:.4f}", *r.loss) : std::string();
  progress_->print_line(fmt::format("evaluation after step {}: {}{}, {} in {:.1f} s{}", r.step, evaluation.text(), loss,
                                    counted(evaluation.eval_samples, "sample"), r.seconds,
                                    evaluation.text_of_others(MetricView::brief)));
}

void RunConsole::on_activity(std::string_view what, std::int64_t done, std::int64_t total) {
  progress_->show_activity(what, done, total);
}

void RunConsole::on_note(const std::string& line) {
  event("note", {{"text", line}});
  if (prints_notes_) return print_error_line(line);  // notes are not progress output
  progress_->print_line(line);
}

void RunConsole::on_detail(const std::string& line) {
  if (console_.verbosity() == Verbosity::verbose) progress_->print_line(line);
}

void RunConsole::on_line(std::string_view kind, const MetricsLine& line) { event(kind, to_json(line)); }

void RunConsole::on_report(const Report& report, const std::filesystem::path& file) {
  event("end", {{"status", to_string(report.status)}, {"message", report.message}, {"report", file.string()}});
}

void RunConsole::on_end(const Report& report, std::span<const double> step_ms, const std::filesystem::path& file) {
  if (console_.events() || console_.verbosity() == Verbosity::quiet) return;
  fmt::print("{}{}report: {}\n", run_summary(report, step_ms), suggest_commands(config_), file.string());
}

void RunConsole::event(std::string_view name, const nlohmann::json& fields) {
  if (console_.events()) print_event(name, fields);
}

}  // namespace ptrain

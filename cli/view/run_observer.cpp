#include "cli/view/run_observer.h"

#include "cli/view/event_log.h"
#include "core/base/counted.h"
#include "core/train/run_result.h"

#include <cmath>
#include <filesystem>
#include <utility>

namespace ptrain {

RunObserver::RunObserver(const Config& config, const Telling* telling)
    : config_(config),
      verbosity_(telling != nullptr ? telling->verbosity() : Verbosity::quiet),
      events_(telling != nullptr && telling->events()),
      progress_(make_progress(telling != nullptr ? telling->progress() : ProgressStyle::none,
                              config.train.log_every_steps)) {}

void RunObserver::on_start(const RunResult& prepared) {
  log_.emplace(std::filesystem::path(config_.output.dir) / "metrics.jsonl", prepared.first_step);
  progress_->message(fmt::format("{} parameters, {:.2f} GFLOP a sample, {} MiB planned", prepared.parameters,
                                 prepared.flops_per_sample * 1e-9, prepared.planned_peak_bytes >> 20));
  event("start", {{"parameters", prepared.parameters},
                  {"flops_per_sample", prepared.flops_per_sample},
                  {"planned_peak_bytes", prepared.planned_peak_bytes},
                  {"first_step", prepared.first_step},
                  {"total_steps", prepared.total_steps}});
  progress_->begin(prepared.first_step);
}

void RunObserver::on_step(const Step& s) {
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
  progress_->step(update);
  unlogged_ms_.push_back(std::round(s.step_seconds * 1e6) * 1e-3);
  if (s.step % config_.train.log_every_steps != 0 && s.step != s.total) return;
  StepLine line;
  line.step = s.step;
  line.epoch = s.epochs;
  line.loss = s.loss;
  line.lr = s.lr;
  line.step_ms = s.step_seconds * 1e3;
  line.reader_ms = s.reader_seconds * 1e3;
  line.compute_ms = s.compute_seconds * 1e3;
  line.samples = s.samples;
  line.steps_ms = std::exchange(unlogged_ms_, {});
  if (s.memory_bytes > 0) line.memory_bytes = s.memory_bytes;
  if (s.loss_scale > 0) line.loss_scale = s.loss_scale;
  log("step", line);
}

void RunObserver::on_eval(const EvalResult& r) {
  const std::string accuracy =
      r.values       ? r.values->text()
      : r.perplexity ? perplexity_text(*r.perplexity)
                     : fmt::format("top-1 {:.4f} (majority class {:.4f})", r.top1, r.balance.majority.value_or(0));
  std::string text = fmt::format("evaluation after step {}: {}, loss {:.4f}, {} in {:.1f} s", r.step, accuracy, r.loss,
                                 counted(r.samples, "sample"), r.seconds);
  if (config_.model.classes > 5) text += fmt::format(", top-5 {:.4f}", r.top5);
  progress_->message(text);
  nlohmann::json figures = r.values ? write_fields(*r.values) : write_fields(r.balance);
  if (r.perplexity) {
    figures = {{"perplexity", *r.perplexity}};
  } else if (!r.values) {
    figures.update({{"top1", r.top1}, {"top5", r.top5}, {"f1", r.f1}});
  }
  EvaluationLine line{r.step, {r.loss, r.samples, r.seconds, {}}};
  for (const auto& [name, value] : figures.items())
    line.eval.figures[name] = value.is_null() ? std::nullopt : std::optional(value.get<double>());
  log("evaluation", line);
}

void RunObserver::on_activity(std::string_view what, std::int64_t done, std::int64_t total) {
  progress_->activity(what, done, total);
}

void RunObserver::on_note(const std::string& line) {
  notes_.push_back(line);
  event("note", {{"text", line}});
  progress_->message(line);
}

void RunObserver::on_detail(const std::string& line) {
  if (verbosity_ == Verbosity::verbose) progress_->message(line);
}

void RunObserver::log(std::string_view name, const MetricsLine& line) {
  if (log_) log_->write(line);
  event(name, to_json(line));
}

void RunObserver::event(std::string_view name, const nlohmann::json& fields) {
  if (events_) print_event(name, fields);
}

}  // namespace ptrain

#include "core/train/run/run_log.h"

#include "core/io/run_files.h"
#include "core/train/run_result.h"

#include <chrono>
#include <cmath>
#include <utility>

namespace ptrain {
namespace {

/// To the millisecond.
double seconds_since_1970() {
  const auto now = std::chrono::system_clock::now().time_since_epoch();
  return static_cast<double>(std::chrono::duration_cast<std::chrono::milliseconds>(now).count()) * 1e-3;
}

}  // namespace

void RunLog::on_start(const RunResult& prepared) {
  log_.emplace(folder_ / run_files::metrics, prepared.first_step);
  event_files_.clear();
  if (!event_formats_.empty()) {
    const std::vector<MetricsLine> earlier = read_metrics(folder_ / run_files::metrics);
    for (const EventFormat format : event_formats_) event_files_.emplace_back(folder_, format, earlier);
  }
  view_.on_start(prepared);
}

void RunLog::on_step(const Step& s) {
  view_.on_step(s);
  unlogged_ms_.push_back(std::round(s.step_seconds * 1e6) * 1e-3);
  if (s.step % log_every_steps_ != 0 && s.step != s.total) return;
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
  for (const auto& [name, loss] : s.losses) {
    if (std::isfinite(loss)) line.losses[name] = loss;
  }
  line.time = seconds_since_1970();
  write("step", line);
}

void RunLog::on_eval(const EvalResult& r) {
  view_.on_eval(r);
  EvaluationLine line{r.step, {r.loss.value_or(std::nan("")), r.evaluation.eval_samples, r.seconds, {}}};
  for (const MetricValue& metric : r.evaluation.metrics) line.eval.figures[metric.name] = metric.value;
  if (const MetricValue* primary = r.evaluation.primary()) line.primary = primary->name, line.title = primary->title;
  line.eval.figures.erase("loss");  // has a field of its own
  line.time = seconds_since_1970();
  write("evaluation", line);
}

void RunLog::on_activity(std::string_view what, std::int64_t done, std::int64_t total) {
  view_.on_activity(what, done, total);
}

void RunLog::on_note(const std::string& line) {
  notes_.push_back(line);
  view_.on_note(line);
}

void RunLog::on_detail(const std::string& line) { view_.on_detail(line); }

void RunLog::write(std::string_view kind, const MetricsLine& line) {
  if (log_) log_->write(line);
  for (EventFile& file : event_files_) file.write(line);
  view_.on_line(kind, line);
}

}  // namespace ptrain

#include "core/analysis/live/run_progress.h"

#include <cmath>

namespace ptrain {
namespace {

constexpr std::size_t recent_lines = 20;  // whose speed is that of now

void append(html::Series& series, std::int64_t step, double value) {
  series.x.push_back(static_cast<double>(step));
  series.y.push_back(value);
}

}  // namespace

void RunProgress::add(const MetricsLine& line) {
  if (const auto* step = std::get_if<StepLine>(&line)) return add_step(*step);
  add_evaluation(std::get<EvaluationLine>(line));
}

void RunProgress::add_step(const StepLine& line) {
  step_ = line.step;
  if (!started_) started_ = line.time;
  append(loss, line.step, line.loss);
  append(learning_rate, line.step, line.lr);
  if (line.memory_bytes) append(memory, line.step, static_cast<double>(*line.memory_bytes));
  const double seconds = line.total_ms() * 1e-3;
  if (line.steps_ms.empty() || seconds <= 0) return;
  const auto steps = static_cast<std::int64_t>(line.steps_ms.size());
  recent_.push_back({static_cast<double>(line.samples * steps), seconds, steps});
  if (recent_.size() > recent_lines) recent_.pop_front();
  append(throughput, line.step, recent_.back().samples / seconds);
}

void RunProgress::add_evaluation(const EvaluationLine& line) {
  if (std::isfinite(line.eval.loss)) append(evaluations["loss"], line.step, line.eval.loss);
  for (const auto& [name, value] : line.eval.figures) {
    if (value) append(evaluations[name], line.step, *value);
  }
  if (line.primary) primary_ = *line.primary, primary_title_ = line.title.value_or(primary_);
}

std::optional<double> RunProgress::last_loss() const {
  return loss.y.empty() ? std::nullopt : std::optional(loss.y.back());
}

std::optional<double> RunProgress::last_primary() const {
  const auto found = evaluations.find(primary_);
  return found == evaluations.end() ? std::nullopt : std::optional(found->second.y.back());
}

RunProgress::Covered RunProgress::sum_recent() const {
  Covered sum;
  for (const Covered& one : recent_) {
    sum.samples += one.samples;
    sum.seconds += one.seconds;
    sum.steps += one.steps;
  }
  return sum;
}

std::optional<double> RunProgress::recent_speed() const {
  const Covered recent = sum_recent();
  return recent.steps == 0 ? std::nullopt : std::optional(recent.samples / recent.seconds);
}

std::optional<double> RunProgress::recent_step_seconds() const {
  const Covered recent = sum_recent();
  return recent.steps == 0 ? std::nullopt : std::optional(recent.seconds / static_cast<double>(recent.steps));
}

}  // namespace ptrain

// MLPerf's log: ":::MLLOG {json}" lines, with times computed from the report's start and the measured steps.
#include "core/analysis/export/export.h"
#include "core/config/config_enums.h"

#include <fmt/format.h>

#include <algorithm>
#include <cmath>
#include <utility>
#include <vector>

namespace ptrain {
namespace {

using nlohmann::json;

class Log {
 public:
  Log(double start, std::string file) : start_(start), file_(std::move(file)) {}

  void event(double elapsed, const char* key, const json& value = nullptr, json metadata = json::object()) {
    write(elapsed, "POINT_IN_TIME", key, value, std::move(metadata));
  }
  void interval_start(double elapsed, const char* key, json metadata = json::object()) {
    write(elapsed, "INTERVAL_START", key, nullptr, std::move(metadata));
  }
  void interval_end(double elapsed, const char* key, json metadata = json::object()) {
    write(elapsed, "INTERVAL_END", key, nullptr, std::move(metadata));
  }
  std::string take() { return std::move(text_); }

 private:
  void write(double elapsed, const char* type, const char* key, const json& value, json metadata) {
    metadata["file"] = file_;
    metadata["lineno"] = ++line_;
    const json line = {{"namespace", ""},    {"time_ms", std::llround((start_ + elapsed) * 1e3)},
                       {"event_type", type}, {"key", key},
                       {"value", value},     {"metadata", metadata}};
    text_ += ":::MLLOG " + line.dump(-1, ' ', false, json::error_handler_t::replace) + "\n";
  }

  double start_;
  std::string file_;
  int line_ = 0;
  std::string text_;
};

void write_setup(Log& log, const Report& report) {
  const Config config = restore_config(report);
  const auto& optimizer = config.train.optimizer;
  log.event(0, "submission_benchmark", exports::model_family(report));
  log.event(0, "submission_platform", report.environment.cpu.model);
  log.interval_start(0, "init_start");
  log.event(0, "seed", config.seed);
  log.event(0, "global_batch_size", report.global_batch_size);
  log.event(0, "gradient_accumulation_steps", config.train.accumulate_steps);
  log.event(0, "opt_name", enum_name(optimizer.name));
  log.event(0, "opt_base_learning_rate", optimizer.lr);
  log.event(0, "opt_weight_decay", optimizer.weight_decay);
  log.event(0, "opt_learning_rate_warmup_steps", config.train.schedule.count_warmup(report.progress.planned_steps));
  if (report.data) log.event(0, "train_samples", report.data->training_samples);
  if (report.evaluation) log.event(0, "eval_samples", report.evaluation->eval_samples);
}

/// MLPerf logs one figure per evaluation: here the task's primary metric.
void write_evaluation(Log& log, double& elapsed, const LoggedEvaluation& evaluation, std::int64_t epoch,
                      const std::string& metric) {
  const json where = {{"epoch_num", epoch}};
  log.interval_start(elapsed, "eval_start", where);
  elapsed += evaluation.seconds;
  log.event(elapsed, "eval_accuracy", write_fields(evaluation).value(metric, json()), where);
  log.interval_end(elapsed, "eval_stop", where);
}

/// A step, or an evaluation after one.
struct Happening {
  std::int64_t step = 0;
  double seconds = 0;
  std::int64_t epoch = 1;                        // of a step, from 1
  const LoggedEvaluation* evaluation = nullptr;  // null: a step
};

/// Adds the steps since the line before; epochs in between follow from both lines.
void add_steps(std::vector<Happening>& happenings, const StepLine& line, double& epochs) {
  const auto count = static_cast<std::int64_t>(std::max<std::size_t>(1, line.steps_ms.size()));
  const double before =
      epochs > 0 ? epochs : line.epoch * static_cast<double>(line.step - count) / static_cast<double>(line.step);
  for (std::int64_t i = 1; i <= count; ++i) {
    const double done = before + (line.epoch - before) * static_cast<double>(i) / static_cast<double>(count);
    const double ms = line.steps_ms.empty() ? line.step_ms : line.steps_ms[static_cast<std::size_t>(i - 1)];
    happenings.push_back(
        {line.step - count + i, ms * 1e-3, std::max<std::int64_t>(1, std::llround(std::ceil(done - 1e-6))), nullptr});
  }
  epochs = line.epoch;
}

/// In order of time: an evaluation's line comes before that of the logged steps around it.
std::vector<Happening> order_happenings(const std::vector<MetricsLine>& lines) {
  std::vector<Happening> happenings;
  double epochs = 0;
  for (const MetricsLine& line : lines) {
    if (const auto* step = std::get_if<StepLine>(&line)) {
      add_steps(happenings, *step, epochs);
    } else {
      const auto& evaluated = std::get<EvaluationLine>(line);
      happenings.push_back({evaluated.step, evaluated.eval.seconds, 1, &evaluated.eval});
    }
  }
  std::stable_sort(happenings.begin(), happenings.end(), [](const Happening& a, const Happening& b) {
    return std::pair(a.step, a.evaluation != nullptr) < std::pair(b.step, b.evaluation != nullptr);
  });
  return happenings;
}

}  // namespace

std::string export_mllog(const ExportInput& input) {
  const Report& report = input.report;
  Log log(exports::start_time(report), input.name);
  write_setup(log, report);
  const MetricValue* primary = report.evaluation ? report.evaluation->primary() : nullptr;
  const std::string metric = primary == nullptr ? std::string() : primary->name;
  double elapsed = report.progress.setup_seconds;
  log.interval_end(elapsed, "init_stop");
  log.interval_start(elapsed, "run_start");
  std::int64_t epoch = 0;  // the one that runs, from 1; 0: none
  const auto end_epoch = [&] {
    if (epoch > 0) log.interval_end(elapsed, "epoch_stop", {{"epoch_num", epoch}});
    epoch = 0;
  };
  std::int64_t last = 1;  // epoch of the last step
  for (const Happening& happening : order_happenings(input.metrics)) {
    if (happening.evaluation != nullptr) {
      end_epoch();
      write_evaluation(log, elapsed, *happening.evaluation, last, metric);
      continue;
    }
    last = happening.epoch;
    if (epoch != last) {
      end_epoch();
      log.interval_start(elapsed, "epoch_start", {{"epoch_num", last}});
      epoch = last;
    }
    elapsed += happening.seconds;
  }
  end_epoch();
  if (input.metrics.empty() && report.evaluation) {
    const std::optional<double> value = report.evaluation->primary_value();
    log.event(elapsed, "eval_accuracy", value ? json(*value) : json(nullptr), {{"epoch_num", 1}});
  }
  log.event(elapsed, "tracked_stats", {{"throughput", exports::total_samples_per_second(report)}},
            {{"step", report.progress.steps}});
  const bool good = report.status == RunStatus::ok;
  log.interval_end(std::max(elapsed, report.progress.wall_seconds), "run_stop",
                   {{"status", good ? "success" : "aborted"}});
  return log.take();
}

}  // namespace ptrain

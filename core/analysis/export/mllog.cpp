// MLPerf's log: ":::MLLOG {json}" lines, with times put together from the report's start and the measured steps.
#include "core/analysis/export/export.h"

#include <fmt/format.h>

#include <cmath>

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

void write_setup(Log& log, const json& report) {
  const json& config = report.at("config");
  const json& optimizer = config.at("train").at("optimizer");
  const bool text = config.at("model").at("name") == "bert";
  log.event(0, "submission_benchmark", text ? "bert" : "resnet");
  log.event(0, "submission_platform", report.at("environment").at("cpu").at("model"));
  log.interval_start(0, "init_start");
  log.event(0, "seed", config.at("seed"));
  log.event(0, "global_batch_size", report.at("global_batch_size"));
  log.event(0, "gradient_accumulation_steps", config.at("train").at("accumulate_steps"));
  log.event(0, "opt_name", optimizer.at("name"));
  log.event(0, "opt_base_learning_rate", optimizer.at("lr"));
  log.event(0, "opt_weight_decay", optimizer.at("weight_decay"));
  log.event(0, "opt_learning_rate_warmup_steps", config.at("train").at("schedule").at("warmup_steps"));
  if (!report.at("accuracy").is_null()) log.event(0, "eval_samples", report["accuracy"].at("eval_samples"));
}

void write_evaluation(Log& log, double& elapsed, const json& line, std::int64_t epoch) {
  const json where = {{"epoch_num", epoch}};
  log.interval_start(elapsed, "eval_start", where);
  elapsed += line.at("eval").value("seconds", 0.0);
  log.event(elapsed, "eval_accuracy", line["eval"].value("top1", json()), where);
  log.interval_end(elapsed, "eval_stop", where);
}

}  // namespace

std::string export_mllog(const ExportInput& input) {
  const json& report = input.report;
  Log log(exports::start_time(report), input.name);
  write_setup(log, report);
  double elapsed = report.at("progress").at("setup_seconds");
  log.interval_end(elapsed, "init_stop");
  log.interval_start(elapsed, "run_start");
  std::int64_t epoch = 1;
  bool in_epoch = false;
  for (const json& line : input.metrics) {
    if (exports::is_step(line)) {
      if (!in_epoch) log.interval_start(elapsed, "epoch_start", {{"epoch_num", epoch}});
      in_epoch = true;
      elapsed += exports::line_milliseconds(line) * 1e-3;
      continue;
    }
    if (in_epoch) log.interval_end(elapsed, "epoch_stop", {{"epoch_num", epoch}});
    in_epoch = false;
    write_evaluation(log, elapsed, line, epoch++);
  }
  if (in_epoch) log.interval_end(elapsed, "epoch_stop", {{"epoch_num", epoch}});
  if (input.metrics.empty() && !report.at("accuracy").is_null()) {
    log.event(elapsed, "eval_accuracy", report["accuracy"].at("top1"), {{"epoch_num", 1}});
  }
  log.event(elapsed, "tracked_stats", {{"throughput", exports::samples_per_second(report) * exports::devices(report)}},
            {{"step", report.at("progress").at("steps")}});
  const bool good = report.at("status") == "ok";
  log.interval_end(std::max(elapsed, report.at("progress").at("wall_seconds").get<double>()), "run_stop",
                   {{"status", good ? "success" : "aborted"}});
  return log.take();
}

}  // namespace ptrain

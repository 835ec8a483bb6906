// Writes a run's metrics.jsonl, collects its notes, and forwards all events.
#pragma once

#include "core/config/config.h"
#include "core/report/event_file.h"
#include "core/report/metrics_log.h"
#include "core/train/run/run_view.h"

#include <filesystem>
#include <list>
#include <optional>
#include <string>
#include <vector>

namespace ptrain {

class RunLog final : public TrainObserver {
 public:
  /// For a run in output.dir; `view` must outlive it.
  RunLog(const Config& config, RunView& view)
      : folder_(config.output.dir),
        log_every_steps_(config.train.log_every_steps),
        event_formats_(config.output.events),
        view_(view) {}

  void on_start(const RunResult& prepared) override;
  void on_step(const Step& step) override;
  void on_eval(const EvalResult& result) override;
  void on_activity(std::string_view what, std::int64_t done, std::int64_t total) override;
  void on_note(const std::string& line) override;
  void on_detail(const std::string& line) override;
  const std::vector<std::string>& notes() const { return notes_; }

 private:
  void write(std::string_view kind, const MetricsLine& line);

  const std::filesystem::path folder_;
  const std::int64_t log_every_steps_;
  const std::vector<EventFormat> event_formats_;
  RunView& view_;
  std::optional<MetricsLog> log_;
  std::list<EventFile> event_files_;
  std::vector<std::string> notes_;
  std::vector<double> unlogged_ms_;  // step times since the last line
};

}  // namespace ptrain

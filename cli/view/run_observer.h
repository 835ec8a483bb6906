// Shows a run's progress and writes its metrics.jsonl.
#pragma once

#include "cli/view/telling.h"
#include "core/config/config.h"
#include "core/report/metrics_log.h"
#include "core/train/train_observer.h"

#include <optional>

namespace ptrain {

class RunObserver final : public TrainObserver {
 public:
  /// null: what the run tells is another rank's to say.
  RunObserver(const Config& config, const Telling* telling);

  void on_start(const RunResult& prepared) override;
  void on_step(const Step& step) override;
  void on_eval(const EvalResult& result) override;
  void on_activity(std::string_view what, std::int64_t done, std::int64_t total) override;
  void on_note(const std::string& line) override;
  void on_detail(const std::string& line) override;
  void finish() { progress_->finish(); }
  const std::vector<std::string>& notes() const { return notes_; }

 private:
  /// In metrics.jsonl, and as an event where these are asked for.
  void log(std::string_view event, const MetricsLine& line);
  void event(std::string_view name, const nlohmann::json& fields);

  const Config& config_;
  const Verbosity verbosity_;
  const bool events_;
  std::unique_ptr<Progress> progress_;
  std::optional<MetricsLog> log_;
  std::vector<std::string> notes_;
  std::vector<double> unlogged_ms_;  // times of the steps since the last line
  std::int64_t samples_ = 0;
  double seconds_ = 0;
  double reader_seconds_ = 0;
};

}  // namespace ptrain

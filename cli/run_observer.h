// Shows a run's progress and writes its metrics.jsonl.
#pragma once

#include "core/config/config.h"
#include "core/report/metrics_log.h"
#include "core/report/progress.h"
#include "core/train/train_observer.h"

#include <optional>

namespace ptrain {

class RunObserver final : public TrainObserver {
 public:
  RunObserver(const Config& config, ProgressStyle style);

  void on_start(const RunResult& prepared) override;
  void on_step(const Step& step) override;
  void on_eval(const EvalResult& result) override;
  void on_note(const std::string& line) override;
  void finish() { progress_->finish(); }
  const std::vector<std::string>& notes() const { return notes_; }

 private:
  const Config& config_;
  std::unique_ptr<Progress> progress_;
  std::optional<MetricsLog> log_;
  std::vector<std::string> notes_;
  std::vector<double> unlogged_ms_;  // times of the steps since the last line
  std::int64_t steps_per_epoch_ = 1;
  std::int64_t samples_ = 0;
  double seconds_ = 0;
  double reader_seconds_ = 0;
};

}  // namespace ptrain

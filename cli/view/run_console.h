// Shows a run on the console: its progress, or events, and its results.
#pragma once

#include "cli/view/console_options.h"
#include "core/config/config.h"
#include "core/report/progress.h"
#include "core/train/run/run_view.h"

#include <memory>

namespace ptrain {

class RunConsole final : public RunView {
 public:
  /// Configuration and options must outlive it. A rank that shows only its report has no progress display.
  RunConsole(const Config& config, const ConsoleOptions& console, RankOutput shown);

  void on_start(const RunResult& prepared) override;
  void on_step(const Step& step) override;
  void on_eval(const EvalResult& result) override;
  void on_activity(std::string_view what, std::int64_t done, std::int64_t total) override;
  void on_note(const std::string& line) override;
  void on_detail(const std::string& line) override;
  void on_line(std::string_view kind, const MetricsLine& line) override;
  void finish() override { progress_->finish(); }
  void on_report(const Report& report, const std::filesystem::path& file) override;
  void on_end(const Report& report, std::span<const double> step_ms, const std::filesystem::path& file) override;

 private:
  /// Prints an event if events are enabled.
  void event(std::string_view name, const nlohmann::json& fields);

  const Config& config_;
  const ConsoleOptions& console_;
  std::unique_ptr<Progress> progress_;
  bool prints_notes_;  // by itself, where no progress is shown
  std::int64_t samples_ = 0;
  double seconds_ = 0;
  double reader_seconds_ = 0;
};

}  // namespace ptrain

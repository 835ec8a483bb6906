// Interfaces that a program provides to its runs: to display them, and to open their workload.
#pragma once

#include "core/config/config.h"
#include "core/report/metrics_line.h"
#include "core/report/report.h"
#include "core/train/run/workload.h"
#include "core/train/train_observer.h"

#include <filesystem>
#include <functional>
#include <memory>
#include <span>
#include <string_view>

namespace ptrain {

/// Shows a run to people or programs while it runs, and its end.
class RunView : public TrainObserver {
 public:
  /// A line was written to metrics.jsonl, of the kind "step" or "evaluation".
  virtual void on_line(std::string_view /*kind*/, const MetricsLine& /*line*/) {}
  /// Training is over.
  virtual void finish() {}
  /// The report was written, whether the run succeeded or not.
  virtual void on_report(const Report& /*report*/, const std::filesystem::path& /*file*/) {}
  /// The run is complete; `step_ms` are the measured steps.
  virtual void on_end(const Report& /*report*/, std::span<const double> /*step_ms*/,
                      const std::filesystem::path& /*file*/) {}
};

/// What a rank shows: everything, or only that it wrote the report of a run whose first rank was lost.
enum class RankOutput { full, report_only };

struct RunTools {
  /// Opens a rank's workload on the GPU of that number; sets what `config` leaves to the data.
  std::function<Workload(Config& config, int device_index)> open_workload;
  /// `config` outlives the view.
  std::function<std::unique_ptr<RunView>(const Config& config, RankOutput shown)> make_view;
};

}  // namespace ptrain

// Who shows a run, or whoever opens what it needs: what a program lends to the runs that it makes.
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

/// Shows a run to people or programs while it goes on, and how it ended.
class RunView : public TrainObserver {
 public:
  /// A line that metrics.jsonl got, of the kind "step" or "evaluation".
  virtual void on_line(std::string_view /*kind*/, const MetricsLine& /*line*/) {}
  /// Nothing more of the training comes.
  virtual void finish() {}
  /// The report was written, of a run that ended well or not.
  virtual void on_report(const Report& /*report*/, const std::filesystem::path& /*file*/) {}
  /// The run came to its end; `step_ms` are the measured steps.
  virtual void on_end(const Report& /*report*/, std::span<const double> /*step_ms*/,
                      const std::filesystem::path& /*file*/) {}
};

/// What is shown of a rank: all, or that it wrote the report of a run whose first rank was lost.
enum class ShownRank { all, report };

struct RunTools {
  /// Opens what a rank works with, on the GPU of that number; settles what `config` leaves to the data.
  std::function<Workload(Config& config, int device_index)> open_workload;
  /// `config` outlives the view.
  std::function<std::unique_ptr<RunView>(const Config& config, ShownRank shown)> make_view;
};

}  // namespace ptrain

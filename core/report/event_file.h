// A run's metrics as TensorBoard and VisualDL read them: one record of a protocol buffer for each line.
#pragma once

#include "core/config/config_enums.h"
#include "core/io/appended_file.h"
#include "core/report/metrics_line.h"

#include <filesystem>
#include <span>
#include <string>

namespace ptrain {

/// A whole file: train/loss, train/lr, train/samples_per_second, train/step_ms, train/reader_ms, train/loss_scale and
/// the terms of a sum of losses for each step, eval/loss and every figure for each evaluation. Lines of old runs have
/// no time; they all get that of the last line which has one.
std::string format_events(EventFormat format, std::span<const MetricsLine> lines);

/// The file of a run that is in progress, in its folder, where both programs look for it.
class EventFile {
 public:
  /// Begins with `earlier` lines, those that a resumed run keeps. Throws Error{failed} when it cannot be written.
  EventFile(const std::filesystem::path& folder, EventFormat format, std::span<const MetricsLine> earlier);

  /// Throws Error{failed} (for example, disk full).
  void write(const MetricsLine& line);

 private:
  EventFormat format_;
  AppendedFile file_;
};

}  // namespace ptrain

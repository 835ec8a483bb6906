// metrics.jsonl: one JSON object per logged step or evaluation, on disk as soon as it is written.
#pragma once

#include "core/io/appended_file.h"
#include "core/report/metrics_line.h"

#include <cstdint>
#include <filesystem>

namespace ptrain {

class MetricsLog {
 public:
  /// A resumed run appends after dropping the lines after `keep_through_step` (and a truncated line); a new run starts
  /// empty with keep_through_step 0. Throws Error{failed} naming the path when it cannot be written.
  MetricsLog(const std::filesystem::path& path, std::int64_t keep_through_step);

  /// Throws Error{failed} (for example, disk full).
  void write(const MetricsLine& line);

 private:
  AppendedFile file_;
};

}  // namespace ptrain

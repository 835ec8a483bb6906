// Follows the metrics.jsonl of a run that trains.
#pragma once

#include "core/report/metrics_line.h"

#include <sys/types.h>

#include <filesystem>
#include <vector>

namespace ptrain {

class MetricsTail {
 public:
  explicit MetricsTail(std::filesystem::path file) : file_(std::move(file)) {}

  struct News {
    bool restarted = false;  // the file was replaced or removed: what was read before no longer counts
    std::vector<MetricsLine> lines;
  };
  /// The lines that were completed since the last call. A line without its end is read once it has one; one that is not
  /// valid is left out. Nothing while the file does not exist or cannot be read.
  News read();

 private:
  std::filesystem::path file_;
  ino_t file_number_ = 0;  // 0: nothing was read yet
  off_t offset_ = 0;       // of the first byte not read
};

}  // namespace ptrain

// Detections as COCO's results file, which pycocotools and other evaluators read.
#pragma once

#include "core/data/dataset.h"
#include "core/io/atomic_file.h"
#include "core/tasks/detected_box.h"

#include <filesystem>
#include <span>

namespace ptrain {

/// A JSON list with an object per detection: image_id, category_id, bbox [x, y, width, height] in px, the segmentation
/// as run lengths where the model finds masks, and score. Numbers have all their digits.
class CocoResults {
 public:
  /// Categories have the ids in `data`. Throws Error{failed} on I/O, as the others do.
  CocoResults(const std::filesystem::path& path, const DatasetInfo& data);

  void add(std::int64_t image_id, std::span<const DetectedBox> objects);
  /// Without it, there is no file.
  void commit();

 private:
  std::vector<std::int64_t> category_ids_;
  AtomicFile file_;
  bool is_empty_ = true;
};

}  // namespace ptrain

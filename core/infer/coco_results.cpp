#include "core/infer/coco_results.h"

#include <fmt/format.h>

namespace ptrain {

CocoResults::CocoResults(const std::filesystem::path& path, const DatasetInfo& data)
    : category_ids_(data.category_ids), file_(path) {
  file_.write("[");
}

void CocoResults::add(std::int64_t image_id, std::span<const DetectedBox> objects) {
  std::string lines;
  for (const DetectedBox& one : objects) {
    const auto label = static_cast<std::size_t>(one.category);
    const std::int64_t category = category_ids_.empty() ? one.category : category_ids_.at(label);
    lines +=
        fmt::format(R"({}{{"image_id":{},"category_id":{},"bbox":[{},{},{},{}],{}"score":{}}})", is_empty_ ? "" : ",\n",
                    image_id, category, one.box[0], one.box[1], one.box[2], one.box[3],
                    one.has_mask() ? fmt::format("\"segmentation\":{},", to_coco(one.mask).dump()) : "", one.score);
    is_empty_ = false;
  }
  file_.write(lines);
}

void CocoResults::commit() {
  file_.write("]\n");
  file_.commit();
}

}  // namespace ptrain

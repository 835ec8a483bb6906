#include "core/infer/label_maps.h"

#include "core/data/file_bytes.h"
#include "core/data/image/class_colours.h"
#include "core/data/image/image_transform.h"
#include "core/tasks/prediction.h"

namespace ptrain {
namespace {

namespace fs = std::filesystem;

const DatasetInfo& require_few_classes(const DatasetInfo& data) {
  if (data.classes > most_label_map_classes) {
    fail_usage("--masks: the model has {} classes, but a label map holds at most {}", data.classes,
               most_label_map_classes);
  }
  return data;
}

}  // namespace

LabelMapFolder::LabelMapFolder(fs::path folder, const DatasetInfo& data)
    : data_(require_few_classes(data)), folder_(std::move(folder)) {}

void LabelMapFolder::write(const std::string& image, const IndexImage& labels) {
  std::vector<std::uint8_t> bytes, pixels;
  read_file(image, bytes);
  const DecodedImage decoded = decode_image(bytes, image, pixels, data_.orientation);
  const auto colours = voc_palette(static_cast<std::size_t>(data_.classes));
  const std::vector<std::int32_t> classes(labels.values.begin(), labels.values.end());
  const fs::path name = folder_.name_pictures(image);
  write_png(fs::path(name) += ".png", encode_png_indices(labels, colours));
  write_png(fs::path(name) += "_overlay.png",
            encode_png(blend_classes(decoded, classes, colours), decoded.width, decoded.height));
}

}  // namespace ptrain

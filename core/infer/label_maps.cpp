#include "core/infer/label_maps.h"

#include "core/data/file_bytes.h"
#include "core/data/image/image_transform.h"
#include "core/data/image/segmentation_transform.h"

#include <numeric>

namespace ptrain {
namespace {

namespace fs = std::filesystem;

constexpr int most_classes_of_map = 256;

/// Image and colour in equal parts.
std::vector<std::uint8_t> blend(const DecodedImage& image, const IndexImage& labels,
                                std::span<const std::array<std::uint8_t, 3>> colours) {
  std::vector<std::uint8_t> pixels;
  pixels.reserve(labels.values.size() * 3);
  for (int y = 0; y < image.height; ++y) {
    const std::uint8_t* const row = image.view.pixels + image.view.stride * static_cast<std::size_t>(y);
    for (int x = 0; x < image.width; ++x) {
      const std::ptrdiff_t at = std::ptrdiff_t{y} * image.width + x;
      const auto& colour = colours[labels.values[static_cast<std::size_t>(at)]];
      for (std::size_t c = 0; c < 3; ++c) {
        const std::uint8_t value = row[3 * static_cast<std::size_t>(x) + c];
        pixels.push_back(static_cast<std::uint8_t>(std::midpoint(value, colour[c])));
      }
    }
  }
  return pixels;
}

const DatasetInfo& require_few_classes(const DatasetInfo& data) {
  if (data.classes > most_classes_of_map) {
    fail_usage("--masks: the model has {} classes, but a label map holds at most {}", data.classes,
               most_classes_of_map);
  }
  return data;
}

}  // namespace

LabelMapFolder::LabelMapFolder(fs::path folder, const DatasetInfo& data)
    : data_(require_few_classes(data)), folder_(std::move(folder)) {}

void LabelMapFolder::write(const std::string& image, const IndexImage& map) {
  std::vector<std::uint8_t> bytes, pixels;
  read_file(image, bytes);
  const DecodedImage decoded = decode_image(bytes, image, pixels, data_.orientation);
  const IndexImage labels = restore_size(map, decoded.size());
  const auto colours = voc_palette(static_cast<std::size_t>(data_.classes));
  const fs::path name = folder_.name_pictures(image);
  write_png(fs::path(name) += ".png", encode_png_indices(labels, colours));
  write_png(fs::path(name) += "_overlay.png",
            encode_png(blend(decoded, labels, colours), decoded.width, decoded.height));
}

}  // namespace ptrain

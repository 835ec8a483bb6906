#include "core/infer/box_pictures.h"

#include "core/data/file_bytes.h"
#include "core/data/image/bitmap_font.h"
#include "core/data/image/class_colours.h"
#include "core/data/image/image_transform.h"
#include "core/data/image/png_image.h"

#include <fmt/format.h>

#include <algorithm>
#include <cmath>

namespace ptrain {
namespace {

/// The class of each pixel [height, width] that an object's mask has, counted from 1, the better object's where there
/// are several; -1 elsewhere.
std::vector<std::int32_t> find_classes(std::span<const DetectedBox> objects, int width, int height) {
  std::vector<std::int32_t> classes(static_cast<std::size_t>(std::ptrdiff_t{width} * height), -1);
  for (auto one = objects.rbegin(); one != objects.rend(); ++one) {
    if (one->score < least_shown_score) continue;
    std::int64_t pixel = 0;  // column by column
    for (std::size_t run = 0; run < one->mask.counts.size(); ++run) {
      const std::int64_t end = pixel + one->mask.counts[run];
      for (; run % 2 == 1 && pixel < end; ++pixel) {
        const auto at = static_cast<std::size_t>(pixel % height * width + pixel / height);
        classes[at] = static_cast<std::int32_t>(one->category) + 1;
      }
      pixel = end;
    }
  }
  return classes;
}

/// Black or white, whichever is easier to read on `ground`.
Colour choose_ink(const Colour& ground) {
  const double luma = 0.299 * ground[0] + 0.587 * ground[1] + 0.114 * ground[2];  // ITU-R BT.601
  return luma > 128 ? Colour{0, 0, 0} : Colour{255, 255, 255};
}

void draw_frame(const Canvas& canvas, int left, int top, int right, int bottom, int thickness, const Colour& colour) {
  canvas.fill(left, top, right, top + thickness, colour);
  canvas.fill(left, bottom - thickness, right, bottom, colour);
  canvas.fill(left, top, left + thickness, bottom, colour);
  canvas.fill(right - thickness, top, right, bottom, colour);
}

void draw_object(const Canvas& canvas, const DetectedBox& object, const std::string& name, const Colour& colour) {
  constexpr int side_of_scale = 240;  // px, of an image with letters of single size
  const int scale = std::max(1, std::min(canvas.width, canvas.height) / side_of_scale);
  const auto [x, y, width, height] = object.box;
  const int left = static_cast<int>(std::lround(x)), top = static_cast<int>(std::lround(y));
  const int right = static_cast<int>(std::lround(x + width)), bottom = static_cast<int>(std::lround(y + height));
  draw_frame(canvas, left, top, right, bottom, 2 * scale, colour);

  const std::string text = fmt::format("{} {:.2f}", name, object.score);
  const int text_width = (count_letters(text) * letter_width + 1) * scale, text_height = (letter_height + 2) * scale;
  // Above the box, below its upper edge where that is not in the image.
  const int text_top = top >= text_height ? top - text_height : std::max(top, 0);
  const int text_left = std::clamp(left, 0, std::max(0, canvas.width - text_width));
  canvas.fill(text_left, text_top, text_left + text_width, text_top + text_height, colour);
  draw_text(canvas, text, text_left + scale, text_top + scale, scale, choose_ink(colour));
}

}  // namespace

void BoxPictureFolder::write(const std::string& image, std::span<const DetectedBox> objects) {
  std::vector<std::uint8_t> bytes, decoded;
  read_file(image, bytes);
  const DecodedImage original = decode_image(bytes, image, decoded, data_.orientation);
  const auto colours = voc_palette(static_cast<std::size_t>(data_.classes) + 1);  // its first is black
  std::vector<std::uint8_t> pixels =
      blend_classes(original, find_classes(objects, original.width, original.height), colours);
  const Canvas canvas{pixels, original.width, original.height};
  for (auto one = objects.rbegin(); one != objects.rend(); ++one) {  // better ones over others
    if (one->score < least_shown_score) continue;
    const auto label = static_cast<std::size_t>(one->category);
    draw_object(canvas, *one, data_.class_names.at(label), colours.at(label + 1));
  }
  write_png(folder_.name_pictures(image) += ".png", encode_png(pixels, original.width, original.height));
}

}  // namespace ptrain

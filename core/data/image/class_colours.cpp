#include "core/data/image/class_colours.h"

#include <numeric>

namespace ptrain {

std::vector<Colour> voc_palette(std::size_t count) {
  std::vector<Colour> colours(count);
  for (std::size_t number = 0; number < count; ++number) {
    for (std::size_t bit = 0; bit < 8; ++bit) {
      for (std::size_t c = 0; c < 3; ++c) {
        const std::size_t dealt = number >> (3 * bit + c) & 1;
        colours[number][c] = static_cast<std::uint8_t>(colours[number][c] | dealt << (7 - bit));
      }
    }
  }
  return colours;
}

std::vector<std::uint8_t> blend_classes(const DecodedImage& image, std::span<const std::int32_t> classes,
                                        std::span<const Colour> colours) {
  std::vector<std::uint8_t> pixels;
  pixels.reserve(classes.size() * 3);
  for (int y = 0; y < image.height; ++y) {
    const std::uint8_t* const row = image.view.pixels + image.view.stride * static_cast<std::size_t>(y);
    for (int x = 0; x < image.width; ++x) {
      const std::int32_t one = classes[static_cast<std::size_t>(std::ptrdiff_t{y} * image.width + x)];
      for (std::size_t c = 0; c < 3; ++c) {
        const std::uint8_t value = row[3 * static_cast<std::size_t>(x) + c];
        pixels.push_back(one < 0 ? value : std::midpoint(value, colours[static_cast<std::size_t>(one)][c]));
      }
    }
  }
  return pixels;
}

}  // namespace ptrain

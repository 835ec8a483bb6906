#include "core/data/image/framing.h"

#include "core/data/tensor_names.h"

#include <algorithm>
#include <cstring>

namespace ptrain {
namespace {

// Width and height of the original image and of the resized one, in px; 1 where it is mirrored.
constexpr std::int64_t placement_columns = 5;

}  // namespace

ImageSize FramePlacement::filled_size(ImageSize frame) const {
  return {std::min(frame.height, resized.height - top), std::min(frame.width, resized.width - left)};
}

FramePlacement fit_inside(ImageSize original, ImageSize frame) {
  const auto width = std::int64_t{original.width}, height = std::int64_t{original.height};
  const bool fills_width = frame.width * height <= frame.height * width;
  const ImageSize resized = fills_width
                                ? ImageSize(std::max<std::int64_t>(1, height * frame.width / width), frame.width)
                                : ImageSize(frame.height, std::max<std::int64_t>(1, width * frame.height / height));
  return {original, resized};
}

void place_image(const DecodedImage& image, const FramePlacement& place, ImageSize frame,
                 const std::array<std::uint8_t, 3>& padding, Scratch& scratch, std::span<std::uint8_t> out) {
  const ImageSize filled = place.filled_size(frame);
  if (filled != frame) {
    for (std::size_t i = 0; i < out.size(); ++i) out[i] = padding[i % 3];
  }
  const auto row_bytes = static_cast<std::size_t>(frame.width) * 3;
  const auto filled_bytes = static_cast<std::size_t>(filled.width) * 3;
  scratch.resized.resize(filled_bytes * static_cast<std::size_t>(filled.height));
  resize_bilinear(image.view, {image.width, place.resized.width, place.left, filled.width},
                  {image.height, place.resized.height, place.top, filled.height}, place.mirror, scratch,
                  scratch.resized.data());
  for (std::size_t y = 0; y < static_cast<std::size_t>(filled.height); ++y) {
    std::memcpy(out.data() + y * row_bytes, scratch.resized.data() + y * filled_bytes, filled_bytes);
  }
}

TensorSpec placement_tensor() { return {tensor_names::placements, DType::f32, {placement_columns}}; }

void write_placement(const FramePlacement& place, std::span<float> row) {
  const std::array<int, placement_columns> values{place.original.width, place.original.height, place.resized.width,
                                                  place.resized.height, place.mirror == Mirror::horizontal ? 1 : 0};
  std::ranges::transform(values, row.begin(), [](int value) { return static_cast<float>(value); });
}

FramePlacement read_placement(std::span<const float> row) {
  std::array<std::int64_t, placement_columns> values{};
  std::ranges::transform(row, values.begin(), [](float value) { return static_cast<std::int64_t>(value); });
  const auto [width, height, resized_width, resized_height, mirrored] = values;
  return {{height, width}, {resized_height, resized_width}, 0, 0, mirrored != 0 ? Mirror::horizontal : Mirror::no};
}

}  // namespace ptrain

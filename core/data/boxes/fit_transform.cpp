#include "core/data/boxes/fit_transform.h"

#include "core/data/image/random_erasing.h"

#include <algorithm>

namespace ptrain {

void Placement::write(std::span<float> row) const {
  const std::array<float, placement_columns> values{static_cast<float>(width), static_cast<float>(height), scale_x,
                                                    scale_y, mirror == Mirror::horizontal ? 1.0f : 0.0f};
  std::ranges::copy(values, row.begin());
}

Placement Placement::read(std::span<const float> row) {
  return {static_cast<int>(row[0]), static_cast<int>(row[1]), row[2], row[3],
          row[4] > 0 ? Mirror::horizontal : Mirror::no};
}

TensorSpec placement_tensor() { return {tensor_names::placements, DType::f32, {placement_columns}}; }

Placement fit_into(ImageSize size, int width, int height) {
  const auto w = std::int64_t{width}, h = std::int64_t{height};
  Placement placement;
  const bool wide = size.width * h <= size.height * w;
  placement.width = wide ? size.width : static_cast<int>(std::max<std::int64_t>(1, w * size.height / h));
  placement.height = wide ? static_cast<int>(std::max<std::int64_t>(1, h * size.width / w)) : size.height;
  placement.scale_x = static_cast<float>(placement.width) / static_cast<float>(width);
  placement.scale_y = static_cast<float>(placement.height) / static_cast<float>(height);
  return placement;
}

void fit_image(const DecodedImage& image, const Placement& placement, ImageSize size, const DatasetInfo& data,
               Scratch& scratch, std::span<std::uint8_t> out) {
  const auto row_bytes = static_cast<std::size_t>(placement.width) * 3;
  scratch.resized.resize(row_bytes * static_cast<std::size_t>(placement.height));
  resize_bilinear(image.view, {image.width, placement.width, 0, placement.width},
                  {image.height, placement.height, 0, placement.height}, placement.mirror, scratch,
                  scratch.resized.data());
  const std::array<std::uint8_t, 3> colour = mean_colour(data);
  const auto line_bytes = static_cast<std::size_t>(size.width) * 3;
  for (std::size_t i = 0; i < out.size(); i += 3)
    std::ranges::copy(colour, out.begin() + static_cast<std::ptrdiff_t>(i));
  for (std::size_t y = 0; y < static_cast<std::size_t>(placement.height); ++y) {
    std::ranges::copy(std::span(scratch.resized).subspan(y * row_bytes, row_bytes),
                      out.subspan(y * line_bytes).begin());
  }
}

}  // namespace ptrain

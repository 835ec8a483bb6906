// Resizes an image so that all of it fits into the model's input, which is padded at the right and at the bottom.
#pragma once

#include "core/data/dataset.h"
#include "core/data/image/resize.h"

namespace ptrain {

/// Where an image is in a model's input.
struct Placement {
  int width = 0, height = 0;  // px, after resizing
  float scale_x = 1, scale_y = 1;
  Mirror mirror = Mirror::no;

  /// As a row of the tensor `placements`, and back.
  void write(std::span<float> row) const;
  static Placement read(std::span<const float> row);
};
inline constexpr std::int64_t placement_columns = 5;
/// The tensor of a sample.
TensorSpec placement_tensor();

/// The largest size of the same ratio that fits into `size`.
Placement fit_into(ImageSize size, int width, int height);

/// Resizes and pads RGB8 pixels; the padding has the data's mean colour. `out` is [size.height, size.width, 3].
void fit_image(const DecodedImage& image, const Placement& placement, ImageSize size, const DatasetInfo& data,
               Scratch& scratch, std::span<std::uint8_t> out);

}  // namespace ptrain

// Brings images of any size to a frame, the size of a model's images: resized in their proportions, and padded at the
// right and at the bottom.
#pragma once

#include "core/data/dataset.h"
#include "core/data/image/resize.h"

#include <array>
#include <cstdint>
#include <span>

namespace ptrain {

/// The place of an image in a frame: `original` is resized to `resized`; as much of it as the frame holds from
/// (left, top) on is taken, mirrored, and put at the frame's left and top; the rest is padding.
struct FramePlacement {
  ImageSize original, resized;
  int left = 0, top = 0;
  Mirror mirror = Mirror::no;

  float scale_x() const { return static_cast<float>(resized.width) / static_cast<float>(original.width); }
  float scale_y() const { return static_cast<float>(resized.height) / static_cast<float>(original.height); }
  /// The size of the part of the frame that is not padding.
  ImageSize filled_size(ImageSize frame) const;
};

/// All of the image, as large as fits into the frame.
FramePlacement fit_inside(ImageSize original, ImageSize frame);

/// Writes the frame's pixels [height, width, 3]; linear, antialiased. `padding` is the colour of the rest.
void place_image(const DecodedImage& image, const FramePlacement& place, ImageSize frame,
                 const std::array<std::uint8_t, 3>& padding, Scratch& scratch, std::span<std::uint8_t> out);

/// The tensor by which predictions find their way back to the original image; for placements without a crop.
TensorSpec placement_tensor();
void write_placement(const FramePlacement& place, std::span<float> row);
FramePlacement read_placement(std::span<const float> row);

}  // namespace ptrain

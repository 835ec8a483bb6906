// Masks of run lengths on images that were mirrored and resized.
#pragma once

#include "core/base/host_device.h"

#include <cmath>
#include <cstdint>

namespace ptrain {

/// A mask of 0 and 1 on an image, column by column, as the image is resized: each pixel is the nearest one of the
/// image (torch.nn.functional.interpolate with mode="nearest").
struct PlacedMask {
  const std::int32_t* ends = nullptr;  // where runs end; the first is of 0
  std::int32_t runs = 0;
  std::int32_t height = 0, width = 0;                // px of the image
  std::int32_t placed_height = 0, placed_width = 0;  // px of the resized image
  bool mirrored = false;

  /// `placement` is a row of the tensor of that name (core/data/image/framing.h).
  PTRAIN_HD_INLINE PlacedMask(const float* placement, const std::int32_t* first_end, std::int32_t count)
      : ends(first_end),
        runs(count),
        height(static_cast<std::int32_t>(placement[1])),
        width(static_cast<std::int32_t>(placement[0])),
        placed_height(static_cast<std::int32_t>(placement[3])),
        placed_width(static_cast<std::int32_t>(placement[2])),
        mirrored(placement[4] != 0) {}

  /// The image's pixel for one of the resized image.
  PTRAIN_HD_INLINE std::int32_t source_row(std::int32_t row) const { return nearest(row, height, placed_height); }
  PTRAIN_HD_INLINE std::int32_t source_column(std::int32_t column) const {
    const std::int32_t at = nearest(column, width, placed_width);
    return mirrored ? width - 1 - at : at;
  }

  /// The run in which a pixel of the image lies; odd ones are of 1.
  PTRAIN_HD_INLINE std::int32_t find_run(std::int32_t row, std::int32_t column) const {
    const std::int32_t pixel = column * height + row;
    std::int32_t first = 0, last = runs;  // the first run that ends after the pixel is in [first, last]
    while (first < last) {
      const std::int32_t middle = (first + last) / 2;
      if (ends[middle] <= pixel) {
        first = middle + 1;
      } else {
        last = middle;
      }
    }
    return first;
  }
  /// Whether a pixel of the resized image is 1.
  PTRAIN_HD_INLINE bool at(std::int32_t row, std::int32_t column) const {
    return find_run(source_row(row), source_column(column)) % 2 == 1;
  }

 private:
  PTRAIN_HD_INLINE static std::int32_t nearest(std::int32_t at, std::int32_t size, std::int32_t placed_size) {
    const float step = static_cast<float>(size) / static_cast<float>(placed_size);
    const auto source = static_cast<std::int32_t>(floorf(static_cast<float>(at) * step));
    return source < size - 1 ? source : size - 1;
  }
};

}  // namespace ptrain

// Antialiased bilinear resizing of RGB8 images: a triangle filter whose support grows with the reduction, as Pillow's
// Image.resize(BILINEAR) and torchvision's antialias=True do.
#pragma once

#include "core/data/dataset.h"

#include <cstddef>
#include <cstdint>

namespace ptrain {

/// One axis of a resize from `in` to `out` pixels, of which only [begin, begin + count) of the output are computed.
struct ResizeAxis {
  int in = 0;
  int out = 0;
  int begin = 0;
  int count = 0;
};

/// Input pixels [begin, end) of an axis.
struct PixelRange {
  int begin = 0;
  int end = 0;
};
/// The input pixels that outputs of `axis` depend on.
PixelRange pixel_range(const ResizeAxis& axis);

/// RGB8 pixels (3 bytes each, rows `stride` bytes apart). The first one is pixel (x, y) of the input.
struct ImageView {
  const std::uint8_t* pixels = nullptr;
  std::size_t stride = 0;
  int x = 0;
  int y = 0;
};

/// A whole image as RGB8.
struct DecodedImage {
  int width = 0;
  int height = 0;
  ImageView view;  // of the decoded pixels

  ImageSize size() const { return {height, width}; }
};

/// Limit for decoded images: above any camera's.
inline constexpr std::uint64_t most_pixels = 150'000'000;

/// Throws BadSample if a whole image of this size is above the limit.
void require_readable_size(std::uint64_t width, std::uint64_t height, const std::string& name);

enum class Mirror { no, horizontal };

/// Writes [vertical.count, horizontal.count, 3] densely to `out`. `source` must hold the support of both axes.
void resize_bilinear(const ImageView& source, const ResizeAxis& horizontal, const ResizeAxis& vertical, Mirror mirror,
                     Scratch& scratch, std::uint8_t* out);

}  // namespace ptrain

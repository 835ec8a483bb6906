// Cuts lines of text out of images: quadrilaterals become upright rectangles.
#pragma once

#include "core/data/boxes/quad.h"
#include "core/data/image/resize.h"

#include <cstdint>
#include <vector>

namespace ptrain {

/// A projective map of the unit square to a quadrilateral, whose first corner is that of (0, 0) and whose second that
/// of (1, 0) (Heckbert 1989, "Fundamentals of texture mapping and image warping", section 2.2.2).
class Perspective {
 public:
  /// Of a convex quadrilateral with an area.
  explicit Perspective(const Quad& to);
  Point2d operator()(Point2d from) const;

 private:
  Point2d origin_, right_, down_;
  double tilt_x_ = 0, tilt_y_ = 0;
};

struct CutImage {
  int width = 0, height = 0;
  std::vector<std::uint8_t> pixels;  // [height, width, 3]

  bool empty() const { return pixels.empty(); }
  /// Valid as long as this.
  DecodedImage view() const { return {width, height, {pixels.data(), static_cast<std::size_t>(width) * 3, 0, 0}}; }
};

/// The part of an image inside `corners`, which are in px and clockwise from the upper left one, as PaddleOCR's
/// get_rotate_crop_image cuts it out: as wide and as high as the longer of the opposite sides, in whole px, by a
/// perspective transform with bicubic interpolation; beyond the image its border is repeated. One that is at least 1.5
/// times as high as wide is turned counter-clockwise. Empty where a side is below 1 px.
CutImage straighten(const DecodedImage& image, const Quad& corners);

}  // namespace ptrain

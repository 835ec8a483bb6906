#include "core/data/image/straighten.h"

#include <algorithm>
#include <array>
#include <cmath>

namespace ptrain {
namespace {

constexpr double upright_ratio = 1.5;  // height by width from which a text is taken to run down

double measure_distance(Point2d a, Point2d b) { return std::hypot(a.x - b.x, a.y - b.y); }

/// Weights of the pixels at -1, 0, 1 and 2 for a place `share` after pixel 0: the cubic convolution of Keys (1981),
/// with OpenCV's parameter.
std::array<double, 4> weigh_cubic(double share) {
  constexpr double a = -0.75;
  const auto near = [](double x) { return ((a + 2) * x - (a + 3)) * x * x + 1; };
  const auto far = [](double x) { return ((a * x - 5 * a) * x + 8 * a) * x - 4 * a; };
  return {far(share + 1), near(share), near(1 - share), far(2 - share)};
}

/// Writes the 3 values of an image at a point, by the centres of its pixels.
void sample_cubic(const DecodedImage& image, Point2d at, std::uint8_t* out) {
  const double left = std::floor(at.x - 0.5), top = std::floor(at.y - 0.5);
  const std::array<double, 4> across = weigh_cubic(at.x - 0.5 - left), down = weigh_cubic(at.y - 0.5 - top);
  std::array<double, 3> sum{};
  for (int i = 0; i < 4; ++i) {
    const double y = std::clamp(top + i - 1, 0.0, image.height - 1.0);
    const std::uint8_t* const row = image.view.pixels + static_cast<std::size_t>(y) * image.view.stride;
    for (int j = 0; j < 4; ++j) {
      const double x = std::clamp(left + j - 1, 0.0, image.width - 1.0);
      const double weight = down[static_cast<std::size_t>(i)] * across[static_cast<std::size_t>(j)];
      const std::uint8_t* const pixel = row + static_cast<std::size_t>(x) * 3;
      for (std::size_t c = 0; c < 3; ++c) sum[c] += weight * pixel[c];
    }
  }
  for (std::size_t c = 0; c < 3; ++c) out[c] = static_cast<std::uint8_t>(std::lround(std::clamp(sum[c], 0.0, 255.0)));
}

}  // namespace

Perspective::Perspective(const Quad& to) : origin_(to[0]) {
  const double dx1 = to[1].x - to[2].x, dx2 = to[3].x - to[2].x, sx = to[0].x - to[1].x + to[2].x - to[3].x;
  const double dy1 = to[1].y - to[2].y, dy2 = to[3].y - to[2].y, sy = to[0].y - to[1].y + to[2].y - to[3].y;
  const double area = dx1 * dy2 - dx2 * dy1;
  tilt_x_ = (sx * dy2 - dx2 * sy) / area;
  tilt_y_ = (dx1 * sy - sx * dy1) / area;
  right_ = {to[1].x - to[0].x + tilt_x_ * to[1].x, to[1].y - to[0].y + tilt_x_ * to[1].y};
  down_ = {to[3].x - to[0].x + tilt_y_ * to[3].x, to[3].y - to[0].y + tilt_y_ * to[3].y};
}

Point2d Perspective::operator()(Point2d from) const {
  const double scale = 1 / (tilt_x_ * from.x + tilt_y_ * from.y + 1);
  return {scale * (right_.x * from.x + down_.x * from.y + origin_.x),
          scale * (right_.y * from.x + down_.y * from.y + origin_.y)};
}

CutImage straighten(const DecodedImage& image, const Quad& corners) {
  const auto width =
      static_cast<int>(std::max(measure_distance(corners[0], corners[1]), measure_distance(corners[2], corners[3])));
  const auto height =
      static_cast<int>(std::max(measure_distance(corners[0], corners[3]), measure_distance(corners[1], corners[2])));
  if (width < 1 || height < 1 || compute_area(corners) < 1) return {};
  const bool turns = height >= upright_ratio * width;
  CutImage cut{turns ? height : width, turns ? width : height, {}};
  cut.pixels.resize(static_cast<std::size_t>(width) * static_cast<std::size_t>(height) * 3);
  const Perspective place(corners);
  std::uint8_t* out = cut.pixels.data();
  for (int y = 0; y < cut.height; ++y) {
    for (int x = 0; x < cut.width; ++x, out += 3) {
      const Point2d upright = turns ? Point2d{width - y - 0.5, x + 0.5} : Point2d{x + 0.5, y + 0.5};
      sample_cubic(image, place({upright.x / width, upright.y / height}), out);
    }
  }
  return cut;
}

}  // namespace ptrain

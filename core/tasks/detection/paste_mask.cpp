#include "core/tasks/detection/paste_mask.h"

#include "core/ops/math/bilinear.h"

#include <algorithm>
#include <cmath>
#include <utility>

namespace ptrain {
namespace {

constexpr std::int64_t border = 1;  // px of zeros around a mask

/// One axis of a box in whole pixels of the image, from `begin` on.
struct PastedAxis {
  std::int64_t begin, first, last;  // [first, last) are in the image
  BilinearAxis resized;             // from the mask with its border

  /// Two pixels of the mask, of which the second has that share.
  struct Tap {
    std::int64_t first, second;
    float share;
  };
  Tap tap(std::int64_t pixel) const {
    const std::int64_t from = resized.first_pixel(pixel - begin);
    return {from, std::min(from + 1, resized.in - 1), resized.position(pixel - begin) - static_cast<float>(from)};
  }
};

/// The axis of a box from `low` to `high` px, of a mask of `side` px and an image of `extent` px.
PastedAxis make_axis(float low, float high, std::int64_t side, std::int64_t extent) {
  const float scale = static_cast<float>(side + 2 * border) / static_cast<float>(side);
  const float half = (high - low) * 0.5f * scale, centre = (high + low) * 0.5f;
  const auto begin = static_cast<std::int64_t>(centre - half), last = static_cast<std::int64_t>(centre + half);
  const std::int64_t first = std::clamp<std::int64_t>(begin, 0, extent);
  return {begin, first, std::clamp<std::int64_t>(last + 1, first, extent),
          BilinearAxis(side + 2 * border, std::max<std::int64_t>(last - begin + 1, 1), false)};
}

/// Collects a mask column by column from the pixels at which it changes.
class RunWriter {
 public:
  explicit RunWriter(ImageSize size) : runs_{size.height, size.width, {0}} {}

  /// The pixels from `pixel` on have that value; pixels are given in their order.
  void set(std::int64_t pixel, bool value) {
    if (value == value_) return;
    runs_.counts.back() += pixel - done_;
    runs_.counts.push_back(0);
    done_ = pixel;
    value_ = value;
  }
  RunLengths finish() {
    runs_.counts.back() += runs_.height * runs_.width - done_;
    return std::move(runs_);
  }

 private:
  RunLengths runs_;
  std::int64_t done_ = 0;
  bool value_ = false;
};

}  // namespace

RunLengths paste_mask(std::span<const float> probabilities, const CornerBox& box, ImageSize size) {
  const auto side = static_cast<std::int64_t>(std::lround(std::sqrt(static_cast<double>(probabilities.size()))));
  const PastedAxis across = make_axis(box.x0, box.x1, side, size.width);
  const PastedAxis down = make_axis(box.y0, box.y1, side, size.height);
  const auto at = [&](std::int64_t row, std::int64_t column) {
    const bool is_inside = row >= border && row < side + border && column >= border && column < side + border;
    return is_inside ? probabilities[static_cast<std::size_t>((row - border) * side + column - border)] : 0.0f;
  };
  RunWriter runs(size);
  for (std::int64_t x = across.first; x < across.last; ++x) {
    const std::int64_t column = x * size.height;  // its first pixel
    const PastedAxis::Tap h = across.tap(x);
    if (down.first > 0) runs.set(column, false);
    for (std::int64_t y = down.first; y < down.last; ++y) {
      const PastedAxis::Tap v = down.tap(y);
      const float upper = (1 - h.share) * at(v.first, h.first) + h.share * at(v.first, h.second);
      const float lower = (1 - h.share) * at(v.second, h.first) + h.share * at(v.second, h.second);
      runs.set(column + y, (1 - v.share) * upper + v.share * lower > 0.5f);
    }
    if (down.last < size.height) runs.set(column + down.last, false);
  }
  const std::int64_t end = across.last * size.height;
  if (end < std::int64_t{size.height} * size.width) runs.set(end, false);
  return runs.finish();
}

}  // namespace ptrain

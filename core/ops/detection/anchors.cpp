#include "core/ops/detection/anchors.h"

#include <array>

namespace ptrain {
namespace {

/// Extent of a feature map: each level halves it, rounding up.
std::int32_t halved(std::int64_t extent, int times) {
  for (int i = 0; i < times; ++i) extent = (extent + 1) / 2;
  return static_cast<std::int32_t>(extent);
}

/// Ratio by ratio, each in all sizes.
void set_shapes(AnchorLevel& level, int side, const AnchorForm& form) {
  constexpr std::array ratios{0.5f, 1.0f, 2.0f};
  for (const float ratio : ratios) {
    for (int i = 0; i < form.sizes; ++i) {
      const double step = static_cast<double>(i * form.octaves) / static_cast<double>(form.sizes);
      const auto size = static_cast<float>(static_cast<int>(side * std::pow(2.0, step)));
      const float tall = std::sqrt(ratio), wide = 1 / tall;
      const float x = std::nearbyint(wide * size / 2), y = std::nearbyint(tall * size / 2);
      level.shapes[level.per_location++] = {-x, -y, x, y};
    }
  }
}

}  // namespace

AnchorGrid make_anchors(const AnchorForm& form, std::int64_t height, std::int64_t width) {
  AnchorGrid grid;
  std::int64_t next = 0;
  for (int i = form.first_level; i <= form.last_level; ++i) {
    AnchorLevel& level = grid.level[grid.levels++];
    level.first = next;
    level.rows = halved(height, i);
    level.columns = halved(width, i);
    level.stride_y = static_cast<std::int32_t>(height / level.rows);
    level.stride_x = static_cast<std::int32_t>(width / level.columns);
    set_shapes(level, AnchorForm::first_side << (i - form.first_level), form);
    next += level.count();
  }
  return grid;
}

AnchorGrid make_cells(std::span<const std::int32_t> strides, std::int64_t height, std::int64_t width) {
  AnchorGrid grid;
  std::int64_t next = 0;
  for (const std::int32_t stride : strides) {
    AnchorLevel& level = grid.level[grid.levels++];
    const auto side = static_cast<float>(stride);
    level.first = next;
    level.rows = static_cast<std::int32_t>(height / stride);
    level.columns = static_cast<std::int32_t>(width / stride);
    level.stride_y = level.stride_x = stride;
    level.shapes[level.per_location++] = {0, 0, side, side};
    next += level.count();
  }
  return grid;
}

}  // namespace ptrain

// Shared by Winograd's convolution and weight gradient: the layout of tiles, and how they are read.
#pragma once

#include "core/cpu/kernels/conv2d/winograd_transforms.h"
#include "core/graph/tensor_desc.h"
#include "core/ops/image/conv2d.h"

#include <fmt/format.h>

namespace ptrain::cpu {

/// Whether Winograd's algorithms support this convolution of [N,H,W,C] with [K,3,3,C].
inline bool is_for_winograd(const Conv2dAttributes& conv, const TensorDesc& data, const TensorDesc& weights,
                            const TensorDesc& result) {
  const bool floating = is_floating(data.dtype) && is_floating(weights.dtype) && is_floating(result.dtype);
  const Shape& w = weights.shape;
  constexpr std::int64_t fewest = 4;  // pixels along a dilated grid: with fewer, tiles are mostly padding
  const bool dense = conv.dilation == 1 || std::min(result.shape[1], result.shape[2]) >= fewest * conv.dilation;
  return floating && conv.stride == 1 && dense && conv.groups == 1 && conv.padding <= 2 * conv.dilation && w[1] == 3 &&
         w[2] == 3 && w[0] % lanes == 0 && w[3] % lanes == 0;
}

/// `count` over `divisor`, rounded up; not below 0.
inline std::int64_t ceil_divided(std::int64_t count, std::int64_t divisor) {
  return count <= 0 ? 0 : (count + divisor - 1) / divisor;
}

/// Elements from one position's plane of so many to the next: a cache line more, which keeps planes that are a power of
/// two apart out of each other's cache sets.
template <typename Element>
std::int64_t plane_distance(std::int64_t elements) {
  return elements + static_cast<std::int64_t>(64 / sizeof(Element));
}

/// Tiles of m x m results over images, in rows; those at the lower and right border may overhang. The results of a
/// dilated convolution are dilation^2 grids of pixels that far apart, each of which has its own tiles: on a grid the
/// convolution is not dilated.
struct WinogradTiles {
  Shape data, result;  // NHWC
  std::int64_t padding, dilation;
  int m;

  std::int64_t rows() const { return ceil_divided(ceil_divided(result[1], dilation), m); }
  std::int64_t columns() const { return ceil_divided(ceil_divided(result[2], dilation), m); }
  std::int64_t count() const { return result[0] * dilation * dilation * rows() * columns(); }
};

/// One tile: its image, and the row and column of its first result.
struct WinogradTile {
  std::int64_t image, row, column;

  WinogradTile(const WinogradTiles& tiles, std::int64_t number) {
    const std::int64_t d = tiles.dilation, grid = number / (tiles.rows() * tiles.columns());
    image = grid / (d * d);
    row = number / tiles.columns() % tiles.rows() * tiles.m * d + grid / d % d;
    column = number % tiles.columns() * tiles.m * d + grid % d;
  }
};

/// A square of pixels `step` apart of an image [H,W,C], whose origin may be outside; pixels outside are zero.
template <int size, typename T>
class PixelSquare {
 public:
  PixelSquare(const T* image, const Shape& shape, std::int64_t row, std::int64_t column, std::int64_t step)
      : first_(image + (row * shape[2] + column) * shape[3]),
        row_(step * shape[2] * shape[3]),
        column_(step * shape[3]),
        top_(ceil_divided(-row, step)),
        bottom_(std::min<std::int64_t>(size, ceil_divided(shape[1] - row, step))),
        left_(ceil_divided(-column, step)),
        right_(std::min<std::int64_t>(size, ceil_divided(shape[2] - column, step))),
        whole_(top_ == 0 && left_ == 0 && bottom_ == size && right_ == size) {}

  /// Loads sixteen channels of the square.
  PTRAIN_INLINE void load(std::int64_t channel, f32x16 (&pixels)[size][size]) const {
    const T* from = first_ + channel;
    if (whole_) {
      for (int i = 0; i < size; ++i) {
        for (int j = 0; j < size; ++j) pixels[i][j] = load16(from + i * row_ + j * column_);
      }
      return;
    }
    for (int i = 0; i < size; ++i) {
      for (int j = 0; j < size; ++j) {
        const bool inside = i >= top_ && i < bottom_ && j >= left_ && j < right_;
        pixels[i][j] = inside ? load16(from + i * row_ + j * column_) : f32x16{};
      }
    }
  }

 private:
  const T* first_;
  std::int64_t row_, column_;
  std::int64_t top_, bottom_, left_, right_;
  bool whole_;
};

}  // namespace ptrain::cpu

// For kernels over NHWC images in which each thread computes a few channels of one pixel.
#pragma once

#include "core/base/shape.h"

#include <cstdint>

namespace ptrain::cuda {

/// For kernels that serve both directions.
enum class Direction { forward, backward };

/// Extents of images [N,height,width,channels] and of the smaller ones [N,out_height,out_width,channels] made of them.
struct ImageExtents {
  int height, width, channels;
  int out_height, out_width;

  ImageExtents(const Shape& images, const Shape& made)
      : height(static_cast<int>(images[1])),
        width(static_cast<int>(images[2])),
        channels(static_cast<int>(images[3])),
        out_height(static_cast<int>(made[1])),
        out_width(static_cast<int>(made[2])) {}
};

/// The n channels that a thread works on, in pixel (image, row, column) of images with rows x columns pixels.
template <int n>
struct Pixel {
  std::int64_t image;
  int row, column, channel;

  __device__ Pixel(std::int64_t item, int rows, int columns, int channels) {
    channel = static_cast<int>(item % (channels / n)) * n;
    std::int64_t pixel = item / (channels / n);
    column = static_cast<int>(pixel % columns);
    pixel /= columns;
    row = static_cast<int>(pixel % rows);
    image = pixel / rows;
  }
};

}  // namespace ptrain::cuda

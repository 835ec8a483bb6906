// Benchmark work: growing sizes of one matrix product and one 3x3 convolution.
#pragma once

#include <array>
#include <cstddef>
#include <cstdint>

namespace ptrain {

/// [rows, width] by [width, width].
struct ProductSize {
  std::int64_t rows = 0, width = 0;
};

/// [images, pixels, pixels, channels] to as many channels, padded by one.
struct ConvolutionSize {
  std::int64_t images = 0, pixels = 0, channels = 0;
};

// From sizes that an emulated precision finishes in milliseconds to sizes that keep a large GPU busy as long.
inline constexpr std::array<ProductSize, 5> product_sizes{
    {{64, 512}, {512, 1024}, {4096, 1024}, {4096, 4096}, {8192, 8192}}};
inline constexpr std::array<ConvolutionSize, 5> convolution_sizes{
    {{1, 14, 64}, {4, 28, 128}, {32, 28, 128}, {64, 28, 256}, {256, 28, 512}}};

}  // namespace ptrain

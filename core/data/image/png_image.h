// PNG decoding to RGB8, and encoding.
#pragma once

#include "core/data/image/resize.h"

#include <array>
#include <cstdint>
#include <span>
#include <string>
#include <vector>

namespace ptrain {

/// Whether the bytes begin like a PNG.
bool is_png(std::span<const std::uint8_t> bytes);

/// Decodes every colour type and depth to RGB8 in `pixels`: grey is replicated, palettes are looked up, alpha is
/// dropped. Throws BadSample naming the file when the data is truncated, corrupt or implausibly large.
DecodedImage decode_png(std::span<const std::uint8_t> bytes, const std::string& name,
                        std::vector<std::uint8_t>& pixels);

/// The values of a PNG of grey levels or of a palette's numbers, which label maps have: one byte per pixel, densely.
struct IndexImage {
  int width = 0;
  int height = 0;
  std::vector<std::uint8_t> values;
};

/// Decodes grey levels of up to 8 bits as they are, and palettes by number. Throws BadSample naming the file when it
/// has colours, more bits or is no PNG, and as decode_png does.
IndexImage decode_png_indices(std::span<const std::uint8_t> bytes, const std::string& name);

/// Encodes `image` with a palette of `colours`, red first; values are below their number. Throws Error{failed} where
/// libpng cannot.
std::vector<std::uint8_t> encode_png_indices(const IndexImage& image,
                                             std::span<const std::array<std::uint8_t, 3>> colours);

/// Encodes `pixels` [height, width, 3], red first, as PNG. Throws Error{failed} where libpng cannot.
std::vector<std::uint8_t> encode_png(std::span<const std::uint8_t> pixels, int width, int height);

}  // namespace ptrain

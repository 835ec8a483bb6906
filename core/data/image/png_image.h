// PNG decoding to RGB8, and encoding.
#pragma once

#include "core/data/image/resize.h"

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

/// Encodes `pixels` [height, width, 3], red first, as PNG. Throws Error{failed} where libpng cannot.
std::vector<std::uint8_t> encode_png(std::span<const std::uint8_t> pixels, int width, int height);

}  // namespace ptrain

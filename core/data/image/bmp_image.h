// BMP, Windows' and OS/2's bitmaps, to RGB8: palettes of 1, 4 and 8 bits, and 24 and 32 bits, uncompressed.
#pragma once

#include "core/data/image/resize.h"

#include <cstdint>
#include <span>
#include <string>
#include <vector>

namespace ptrain {

/// Whether the bytes begin like a BMP file.
bool is_bmp(std::span<const std::uint8_t> bytes);

/// Decodes to RGB8 in `pixels`; alpha is dropped. Throws BadSample naming the file when the data is truncated, corrupt
/// or of another kind of BMP.
DecodedImage decode_bmp(std::span<const std::uint8_t> bytes, const std::string& name,
                        std::vector<std::uint8_t>& pixels);

}  // namespace ptrain

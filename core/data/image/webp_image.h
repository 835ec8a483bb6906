// WebP to RGB8, by libwebp.
#pragma once

#include "core/data/image/resize.h"

#include <cstdint>
#include <span>
#include <string>
#include <vector>

namespace ptrain {

/// Whether the bytes begin like a WebP file.
bool is_webp(std::span<const std::uint8_t> bytes);

/// Decodes to RGB8 in `pixels`; alpha is dropped. Throws BadSample naming the file when the data is truncated, corrupt,
/// implausibly large, or an animation.
DecodedImage decode_webp(std::span<const std::uint8_t> bytes, const std::string& name,
                         std::vector<std::uint8_t>& pixels);

}  // namespace ptrain

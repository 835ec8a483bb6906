#include "core/data/image/webp_image.h"

#include <webp/decode.h>

#include <algorithm>
#include <cstring>

namespace ptrain {

bool is_webp(std::span<const std::uint8_t> bytes) {
  return bytes.size() >= 12 && std::memcmp(bytes.data(), "RIFF", 4) == 0 &&
         std::memcmp(bytes.data() + 8, "WEBP", 4) == 0;
}

DecodedImage decode_webp(std::span<const std::uint8_t> bytes, const std::string& name,
                         std::vector<std::uint8_t>& pixels) {
  constexpr std::uint64_t webp_pixels_per_byte = 1024, always_plausible = 1 << 24;  // one colour takes few bytes
  WebPBitstreamFeatures header;
  if (WebPGetFeatures(bytes.data(), bytes.size(), &header) != VP8_STATUS_OK) {
    throw BadSample(fmt::format("{}: corrupt WebP: its header cannot be read", name));
  }
  if (header.has_animation != 0) throw BadSample(fmt::format("{}: an animated WebP, expected one image", name));
  const auto width = static_cast<std::uint64_t>(header.width), height = static_cast<std::uint64_t>(header.height);
  require_readable_size(width, height, name);
  if (width * height > std::max<std::uint64_t>(always_plausible, bytes.size() * webp_pixels_per_byte)) {
    throw BadSample(fmt::format("{}: corrupt WebP: header claims {} x {} pixels, which {} bytes cannot hold", name,
                                width, height, bytes.size()));
  }
  const std::size_t stride = std::size_t{3} * width;
  pixels.resize(stride * height);
  if (WebPDecodeRGBInto(bytes.data(), bytes.size(), pixels.data(), pixels.size(), static_cast<int>(stride)) ==
      nullptr) {
    throw BadSample(fmt::format("{}: corrupt WebP: its pixels cannot be decoded (truncated file?)", name));
  }
  return {header.width, header.height, {pixels.data(), stride, 0, 0}};
}

}  // namespace ptrain

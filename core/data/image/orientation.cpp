#include "core/data/image/orientation.h"

#include <algorithm>
#include <cstring>
#include <optional>
#include <string_view>

namespace ptrain {
namespace {

using Bytes = std::span<const std::uint8_t>;

bool starts_with(Bytes bytes, std::string_view text) {
  return bytes.size() >= text.size() && std::memcmp(bytes.data(), text.data(), text.size()) == 0;
}

/// An unsigned number of `count` bytes; none beyond the end.
std::optional<std::uint32_t> number(Bytes bytes, std::size_t offset, std::size_t count, bool big_endian) {
  if (offset > bytes.size() || bytes.size() - offset < count) return std::nullopt;
  std::uint32_t value = 0;
  for (std::size_t i = 0; i < count; ++i) value = value << 8 | bytes[offset + (big_endian ? i : count - 1 - i)];
  return value;
}

constexpr std::string_view exif_prefix("Exif\0\0", 6);

/// The EXIF data in the segments before a JPEG's first scan; empty where there is none.
Bytes exif_of_jpeg(Bytes file) {
  constexpr std::uint8_t first_scan = 0xda, end = 0xd9, app1 = 0xe1, fill = 0xff;
  for (std::size_t at = 2; at + 4 <= file.size() && file[at] == fill;) {
    const std::uint8_t marker = file[at + 1];
    if (marker == fill) {
      ++at;
      continue;
    }
    const std::size_t length = *number(file, at + 2, 2, true);
    if (marker == first_scan || marker == end || length < 2 || length > file.size() - at - 2) return {};
    const Bytes content = file.subspan(at + 4, length - 2);
    if (marker == app1 && starts_with(content, exif_prefix)) return content;
    at += 2 + length;
  }
  return {};
}

/// The chunk of that name in a PNG or WebP file, whose first chunk begins at `at`; empty where there is none.
Bytes find_chunk(Bytes file, std::size_t at, std::string_view name, bool is_png) {
  while (at + 8 <= file.size()) {
    const Bytes kind = file.subspan(is_png ? at + 4 : at, 4);
    const std::size_t length = *number(file, is_png ? at : at + 4, 4, is_png);
    if (length > file.size() - at - 8) return {};
    if (starts_with(kind, name)) return file.subspan(at + 8, length);
    at += 8 + length + (is_png ? 4 : length % 2);  // a checksum, or padding
  }
  return {};
}

/// The orientation in the first directory of TIFF data; none where it is not one number.
std::optional<std::uint32_t> orientation_tag(Bytes tiff) {
  constexpr std::uint32_t orientation = 0x0112, byte = 1, word = 3, long_word = 4;
  while (starts_with(tiff, exif_prefix)) tiff = tiff.subspan(exif_prefix.size());
  const bool big_endian = starts_with(tiff, std::string_view("MM\0*", 4));
  if (!big_endian && !starts_with(tiff, std::string_view("II*\0", 4))) return std::nullopt;
  const std::optional<std::uint32_t> directory = number(tiff, 4, 4, big_endian);
  const std::optional<std::uint32_t> entries = directory ? number(tiff, *directory, 2, big_endian) : std::nullopt;
  std::optional<std::uint32_t> found;
  for (std::size_t i = 0; i < entries.value_or(0); ++i) {
    const std::size_t at = std::size_t{*directory} + 2 + 12 * i;
    if (number(tiff, at, 2, big_endian) != orientation) continue;
    const std::optional<std::uint32_t> type = number(tiff, at + 2, 2, big_endian);
    const std::size_t size = type == byte ? 1 : type == word ? 2 : type == long_word ? 4 : 0;
    if (size > 0 && number(tiff, at + 4, 4, big_endian) == 1U) found = number(tiff, at + 8, size, big_endian);
  }
  return found;
}

}  // namespace

Orientation Orientation::find(Bytes file) {
  Bytes exif;
  if (starts_with(file, "\xff\xd8")) exif = exif_of_jpeg(file);
  if (starts_with(file, "\x89PNG")) exif = find_chunk(file, 8, "eXIf", true);
  if (starts_with(file, "RIFF")) exif = find_chunk(file, 12, "EXIF", false);
  const std::uint32_t tag = orientation_tag(exif).value_or(1);
  return Orientation(tag >= 1 && tag <= 8 ? static_cast<int>(tag) : 1);
}

ImageView Orientation::turn(const ImageView& stored, int width, int height, std::vector<std::uint8_t>& pixels) const {
  if (is_upright()) return stored;
  const bool from_right = tag_ == 2 || tag_ == 3 || tag_ == 7 || tag_ == 8;
  const bool from_below = tag_ == 3 || tag_ == 4 || tag_ == 6 || tag_ == 7;
  const auto [seen_width, seen_height] = seen(width, height);
  const std::size_t stride = std::size_t{3} * static_cast<std::size_t>(seen_width);
  pixels.resize(stride * static_cast<std::size_t>(seen_height));
  std::uint8_t* to = pixels.data();
  for (int y = 0; y < seen_height; ++y) {
    for (int x = 0; x < seen_width; ++x, to += 3) {
      const int column = swaps() ? y : x, row = swaps() ? x : y;
      const int from_x = (from_right ? width - 1 - column : column) - stored.x;
      const int from_y = (from_below ? height - 1 - row : row) - stored.y;
      std::memcpy(to, stored.pixels + stored.stride * static_cast<std::size_t>(from_y) + 3 * from_x, 3);
    }
  }
  return {pixels.data(), stride, 0, 0};
}

}  // namespace ptrain

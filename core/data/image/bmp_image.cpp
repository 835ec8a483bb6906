#include "core/data/image/bmp_image.h"

#include <cstring>

namespace ptrain {
namespace {

class BmpReader {
 public:
  BmpReader(std::span<const std::uint8_t> bytes, const std::string& name) : bytes_(bytes), name_(name) {}

  DecodedImage decode(std::vector<std::uint8_t>& pixels) const {
    const std::uint32_t pixels_at = number(10, 4), header = number(14, 4);
    const bool is_old = header == 12;  // OS/2's
    if (!is_old && (header < 40 || header > 124)) reject("its header is of an unknown kind");
    const auto width = is_old ? static_cast<std::int32_t>(number(18, 2)) : static_cast<std::int32_t>(number(18, 4));
    const auto rows = is_old ? static_cast<std::int32_t>(number(20, 2)) : static_cast<std::int32_t>(number(22, 4));
    const std::uint32_t bits = is_old ? number(24, 2) : number(28, 2), compression = is_old ? 0 : number(30, 4);
    const std::int64_t height = rows < 0 ? -std::int64_t{rows} : rows;  // negative: from the top
    if (width <= 0 || height == 0) reject("it has no pixels");
    require_readable_size(static_cast<std::uint64_t>(width), static_cast<std::uint64_t>(height), name_);
    const bool is_usual = compression == 0 && (bits == 1 || bits == 4 || bits == 8 || bits == 24 || bits == 32);
    const bool has_usual_masks =
        compression == 3 && bits == 32 && number(54, 4) == 0xff0000 && number(58, 4) == 0xff00 && number(62, 4) == 0xff;
    if (!is_usual && !has_usual_masks) {
      throw BadSample(fmt::format("{}: a BMP of {} bits a pixel and compression {}, which is not supported", name_,
                                  bits, compression));
    }
    const std::uint64_t row_bytes = (std::uint64_t{bits} * static_cast<std::uint64_t>(width) + 31) / 32 * 4;
    require(pixels_at, row_bytes * static_cast<std::uint64_t>(height));
    const std::size_t palette = 14 + std::size_t{header}, entry = is_old ? 3 : 4;
    const std::size_t stride = std::size_t{3} * static_cast<std::size_t>(width);
    pixels.resize(stride * static_cast<std::size_t>(height));
    for (std::int64_t y = 0; y < height; ++y) {
      const auto row = static_cast<std::uint64_t>(rows < 0 ? y : height - 1 - y);
      const std::uint8_t* from = bytes_.data() + pixels_at + row * row_bytes;
      std::uint8_t* to = pixels.data() + stride * static_cast<std::size_t>(y);
      for (std::size_t x = 0; x < static_cast<std::size_t>(width); ++x, to += 3) {
        const std::uint8_t* blue = from + x * (bits / 8);
        if (bits <= 8) {
          const std::size_t per_byte = 8 / bits, shift = bits * (per_byte - 1 - x % per_byte);
          const std::size_t index = std::size_t{from[x / per_byte]} >> shift & ((1u << bits) - 1);
          require(palette + entry * index, 3);
          blue = bytes_.data() + palette + entry * index;
        }
        to[0] = blue[2];
        to[1] = blue[1];
        to[2] = blue[0];
      }
    }
    return {width, static_cast<int>(height), {pixels.data(), stride, 0, 0}};
  }

 private:
  std::uint32_t number(std::size_t offset, std::size_t count) const {
    require(offset, count);
    std::uint32_t value = 0;
    for (std::size_t i = count; i-- > 0;) value = value << 8 | bytes_[offset + i];
    return value;
  }
  void require(std::uint64_t offset, std::uint64_t count) const {
    if (offset > bytes_.size() || count > bytes_.size() - offset) reject("data ends early (truncated file)");
  }
  [[noreturn]] void reject(const char* why) const { throw BadSample(fmt::format("{}: corrupt BMP: {}", name_, why)); }

  std::span<const std::uint8_t> bytes_;
  const std::string& name_;
};

}  // namespace

bool is_bmp(std::span<const std::uint8_t> bytes) {
  return bytes.size() >= 26 && bytes[0] == 'B' && bytes[1] == 'M' && bytes[14] >= 12 && bytes[15] == 0;
}

DecodedImage decode_bmp(std::span<const std::uint8_t> bytes, const std::string& name,
                        std::vector<std::uint8_t>& pixels) {
  return BmpReader(bytes, name).decode(pixels);
}

}  // namespace ptrain

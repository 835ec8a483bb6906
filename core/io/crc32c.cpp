// Eight bytes per iteration with eight tables (M. Kounavis, F. Berry, "A Systematic Approach to Building High
// Performance Software-based CRC Generators", 2005): cheap compared with decoding the image.
#include "core/io/crc32c.h"

#include <array>
#include <cstddef>

namespace ptrain {
namespace {

using Table = std::array<std::uint32_t, 256>;

constexpr std::array<Table, 8> make_tables() {
  constexpr std::uint32_t polynomial = 0x82f63b78u;  // bits reversed
  std::array<Table, 8> tables{};
  for (std::uint32_t i = 0; i < 256; ++i) {
    std::uint32_t value = i;
    for (int bit = 0; bit < 8; ++bit) value = (value >> 1) ^ ((value & 1) != 0 ? polynomial : 0);
    tables[0][i] = value;
  }
  for (std::size_t t = 1; t < 8; ++t) {
    for (std::size_t i = 0; i < 256; ++i) {
      tables[t][i] = (tables[t - 1][i] >> 8) ^ tables[0][tables[t - 1][i] & 0xff];
    }
  }
  return tables;
}

constexpr std::array<Table, 8> tables = make_tables();

std::uint32_t crc32c(std::span<const std::uint8_t> bytes) {
  std::uint32_t crc = ~0u;
  for (; bytes.size() >= 8; bytes = bytes.subspan(8)) {
    std::uint32_t next = 0;
    for (std::size_t i = 0; i < 8; ++i) {
      const std::uint32_t mixed = bytes[i] ^ (i < 4 ? crc >> (8 * i) & 0xff : 0);
      next ^= tables[7 - i][mixed];
    }
    crc = next;
  }
  for (const std::uint8_t byte : bytes) crc = (crc >> 8) ^ tables[0][(crc ^ byte) & 0xff];
  return ~crc;
}

}  // namespace

std::uint32_t masked_crc32c(std::span<const std::uint8_t> bytes) {
  const std::uint32_t crc = crc32c(bytes);
  return (crc >> 15 | crc << 17) + 0xa282ead8u;
}

}  // namespace ptrain

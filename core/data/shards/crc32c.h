// CRC-32C, by Castagnoli's polynomial (RFC 3720, appendix B.4), which TFRecord's files use.
#pragma once

#include <cstdint>
#include <span>

namespace ptrain {

/// The Castagnoli CRC of 32 bits, which TFRecord masks.
std::uint32_t crc32c(std::span<const std::uint8_t> bytes);

}  // namespace ptrain

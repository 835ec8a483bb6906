// CRC-32C, by Castagnoli's polynomial (RFC 3720, appendix B.4), of TFRecord's and TensorBoard's files.
#pragma once

#include <cstdint>
#include <span>

namespace ptrain {

/// The checksum as those files have it: masked, since data may contain checksums itself.
std::uint32_t masked_crc32c(std::span<const std::uint8_t> bytes);

}  // namespace ptrain

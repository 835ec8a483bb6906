// Base64 (RFC 4648), with padding.
#pragma once

#include <cstdint>
#include <span>
#include <string>

namespace ptrain {

/// RFC 4648, padded.
inline std::string base64(std::span<const std::uint8_t> bytes) {
  constexpr char digits[] = "ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789+/";
  std::string text;
  text.reserve((bytes.size() + 2) / 3 * 4);
  for (std::size_t i = 0; i < bytes.size(); i += 3) {
    const std::size_t left = bytes.size() - i;
    const std::uint32_t group = std::uint32_t{bytes[i]} << 16 | (left > 1 ? std::uint32_t{bytes[i + 1]} << 8 : 0) |
                                (left > 2 ? std::uint32_t{bytes[i + 2]} : 0);
    text += digits[group >> 18];
    text += digits[group >> 12 & 63];
    text += left > 1 ? digits[group >> 6 & 63] : '=';
    text += left > 2 ? digits[group & 63] : '=';
  }
  return text;
}

/// A data URI for a page, in place of a file of that type ("image/png").
inline std::string data_uri(const std::string& type, std::span<const std::uint8_t> bytes) {
  return "data:" + type + ";base64," + base64(bytes);
}

}  // namespace ptrain

// Parts of URLs.
#pragma once

#include <fmt/format.h>

#include <string>
#include <string_view>

namespace ptrain {

/// `text` as a part of a URL's path: other characters than letters, digits, "-._~" and those of `kept` are escaped.
inline std::string encode_url(std::string_view text, std::string_view kept = {}) {
  constexpr std::string_view plain = "ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789-._~";
  std::string part;
  for (const char c : text) {
    if (plain.find(c) != plain.npos || kept.find(c) != kept.npos) {
      part += c;
    } else {
      part += fmt::format("%{:02X}", static_cast<unsigned char>(c));
    }
  }
  return part;
}

}  // namespace ptrain

// FNV-1a, for identities that must be the same on every machine (not for security).
#pragma once

#include <cstdint>
#include <string_view>

namespace ptrain {

constexpr std::uint64_t fnv1a64(std::string_view bytes) {
  std::uint64_t hash = 14695981039346656037u;
  for (const char c : bytes) hash = (hash ^ static_cast<unsigned char>(c)) * 1099511628211u;
  return hash;
}

}  // namespace ptrain

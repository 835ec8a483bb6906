// FNV-1a, for identities that must be the same on every machine (not for security).
#pragma once

#include <cstdint>
#include <string_view>

namespace ptrain {

/// FNV-1a (Fowler, Noll and Vo) of 64 bits, continuing from the value `hash`.
constexpr std::uint64_t fnv1a64(std::string_view bytes, std::uint64_t hash = 14695981039346656037u) {
  for (const char c : bytes) hash = (hash ^ static_cast<unsigned char>(c)) * 1099511628211u;
  return hash;
}

/// Mixes `value` so that every bit of the result depends on every bit of it (splitmix64's last step); FNV-1a's low bits
/// are too weak for remainders.
constexpr std::uint64_t mixed64(std::uint64_t value) {
  value = (value ^ value >> 30) * 0xBF58476D1CE4E5B9u;
  value = (value ^ value >> 27) * 0x94D049BB133111EBu;
  return value ^ value >> 31;
}

}  // namespace ptrain

// What readers of compressed bytes have in common.
#pragma once

#include <cstddef>
#include <span>

namespace ptrain {

/// Unpacks bytes, which must outlive it, front to back. Made with a name that begins every error message.
class Unpacker {
 public:
  Unpacker() = default;
  virtual ~Unpacker() = default;
  Unpacker(const Unpacker&) = delete;
  Unpacker& operator=(const Unpacker&) = delete;

  /// Fills `out`, or less of it at the end only, and returns how many bytes it wrote. Throws Error{failed} where the
  /// data are damaged or cut off, or something else follows them.
  virtual std::size_t read(std::span<std::byte> out) = 0;
};

}  // namespace ptrain

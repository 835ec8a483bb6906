// JPEG decoding on a device, for the data loading threads.
#pragma once

#include <cstdint>
#include <functional>
#include <memory>
#include <span>

namespace ptrain {

/// A decoder for one thread.
class ImageDecoder {
 public:
  virtual ~ImageDecoder() = default;
  /// RGB8 pixels [height, width, 3] of a whole JPEG whose header gives that size, grey replicated; valid until the next
  /// call. Empty for a JPEG that the device does not support, which may be damaged. Throws Error{failed} when the
  /// device fails, OutOfMemory when its memory does not suffice.
  virtual std::span<const std::uint8_t> decode(std::span<const std::uint8_t> jpeg, int width, int height) = 0;
};

/// Makes a decoder for one thread; empty: the host decodes.
using MakeImageDecoder = std::function<std::unique_ptr<ImageDecoder>()>;

}  // namespace ptrain

// How a device decodes JPEGs for the threads that load data.
#pragma once

#include <cstdint>
#include <functional>
#include <memory>
#include <span>

namespace ptrain {

/// One thread's.
class ImageDecoder {
 public:
  virtual ~ImageDecoder() = default;
  /// RGB8 pixels [height, width, 3] of a whole JPEG whose header gives that size, grey replicated; they hold until the
  /// next call. None of a JPEG that the device does not take, which may be damaged. Throws Error{failed} when the
  /// device fails, OutOfMemory when its memory does not suffice.
  virtual std::span<const std::uint8_t> decode(std::span<const std::uint8_t> jpeg, int width, int height) = 0;
};

/// Makes a decoder for one thread; empty: the host decodes.
using MakeImageDecoder = std::function<std::unique_ptr<ImageDecoder>()>;

}  // namespace ptrain

// The orientation in which cameras store images, by EXIF's tag (CIPA DC-008, 0x0112).
#pragma once

#include "core/data/image/resize.h"

#include <cstdint>
#include <span>
#include <utility>
#include <vector>

namespace ptrain {

/// How stored pixels are turned and mirrored to be seen upright.
class Orientation {
 public:
  Orientation() = default;  // upright as stored
  /// From the EXIF data of a JPEG, PNG or WebP file; upright where there is none, or its tag is none of 1 to 8.
  static Orientation find(std::span<const std::uint8_t> file);

  bool is_upright() const { return tag_ == 1; }
  /// Width and height as seen, of an image stored as `width` x `height`.
  std::pair<int, int> seen(int width, int height) const {
    return swaps() ? std::pair(height, width) : std::pair(width, height);
  }
  /// The pixels of a whole image stored as `width` x `height`, upright; in `pixels` unless they are so already.
  ImageView turn(const ImageView& stored, int width, int height, std::vector<std::uint8_t>& pixels) const;

 private:
  explicit Orientation(int tag) : tag_(tag) {}
  bool swaps() const { return tag_ >= 5; }

  int tag_ = 1;
};

}  // namespace ptrain

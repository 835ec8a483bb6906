// JPEG to RGB8, decoding only the needed region, at a reduced size when the target is much smaller.
#pragma once

#include "core/data/image/resize.h"

#include <cstdint>
#include <memory>
#include <span>
#include <string>
#include <vector>

namespace ptrain {

struct Box {
  int x = 0;
  int y = 0;
  int width = 0;
  int height = 0;
};

struct JpegState;

/// Whether the bytes begin like a JPEG.
bool is_jpeg(std::span<const std::uint8_t> bytes);

/// One JPEG image. Throws BadSample naming the file when the data is truncated, corrupt or implausibly large.
class JpegDecoder {
 public:
  /// Reads the header. `bytes` must outlive the decoder.
  JpegDecoder(std::span<const std::uint8_t> bytes, std::string name);
  ~JpegDecoder();
  JpegDecoder(const JpegDecoder&) = delete;
  JpegDecoder& operator=(const JpegDecoder&) = delete;

  /// Pixels of the image at full size, as its header gives them.
  int width() const;
  int height() const;
  /// Whether any decoder can be used: complete to its last marker, one Huffman-coded scan, YCbCr or grey. Only libjpeg
  /// reports what is wrong with other files, or limits their cost.
  bool is_plain() const;
  /// Sets the decoded size to 1 / denominator (1, 2, 4 or 8) of the full size, rounded up.
  void set_scale(int denominator);
  /// Decodes at least `region` (in scaled pixels) into `pixels` as RGB8; grey is replicated, CMYK converted. Can be
  /// called once.
  ImageView decode(const Box& region, std::vector<std::uint8_t>& pixels);

 private:
  std::unique_ptr<JpegState> state_;
};

}  // namespace ptrain

// Bilinear interpolation along one axis: which pixels an output reads, with which shares, and which outputs read a
// pixel. Coordinates are computed in fp32, as PyTorch computes them.
#pragma once

#include "core/base/dtype.h"

#include <cstdint>

namespace ptrain {

/// An axis resized from `in` to `out` pixels. With aligned corners the first and last pixels coincide; otherwise the
/// borders of the pixels do.
struct BilinearAxis {
  std::int64_t in, out;
  float scale;  // pixels of the input per pixel of the output
  bool align_corners;

  BilinearAxis(std::int64_t in_size, std::int64_t out_size, bool aligned)
      : in(in_size),
        out(out_size),
        scale(static_cast<float>(in_size) / static_cast<float>(out_size)),
        align_corners(aligned) {
    if (!aligned) return;
    scale = out_size > 1 ? static_cast<float>(in_size - 1) / static_cast<float>(out_size - 1) : 0.0f;
  }

  /// Where output `o` lies among the pixels of the input.
  PTRAIN_HD_INLINE float position(std::int64_t o) const {
    const auto at = static_cast<float>(o);
    if (align_corners) return at * scale;
    const float centre = (at + 0.5f) * scale - 0.5f;
    return centre > 0 ? centre : 0.0f;
  }
  /// The first of the two pixels that output `o` reads; the second is the next one, or at the end the same.
  PTRAIN_HD_INLINE std::int64_t first_pixel(std::int64_t o) const {
    const auto pixel = static_cast<std::int64_t>(position(o));
    return pixel < in - 1 ? pixel : in - 1;
  }
  /// The share of pixel `i` in output `o`; 0 for pixels that it does not read.
  PTRAIN_HD_INLINE float share(std::int64_t o, std::int64_t i) const {
    const std::int64_t first = first_pixel(o);
    const float second_share = first < in - 1 ? position(o) - static_cast<float>(first) : 0.0f;
    return i == first ? 1.0f - second_share : i == first + 1 ? second_share : 0.0f;
  }

  /// Indices [begin, end).
  struct Range {
    std::int64_t begin, end;
  };
  /// The pixels that output `o` reads.
  PTRAIN_HD_INLINE Range pixels(std::int64_t o) const {
    const std::int64_t first = first_pixel(o);
    return {first, first + 2 < in ? first + 2 : in};
  }
  /// The outputs that read pixel `i`.
  PTRAIN_HD_INLINE Range outputs(std::int64_t i) const { return {first_output(i - 1), first_output(i + 1)}; }

 private:
  /// The first output whose first pixel is `i` or a later one: an estimate, corrected for rounding.
  PTRAIN_HD_INLINE std::int64_t first_output(std::int64_t i) const {
    if (i <= 0) return 0;
    if (i >= in || scale <= 0) return out;
    const auto pixel = static_cast<float>(i);
    auto o = static_cast<std::int64_t>(align_corners ? pixel / scale : (pixel + 0.5f) / scale - 0.5f);
    o = o < 0 ? 0 : o > out ? out : o;
    while (o > 0 && first_pixel(o - 1) >= i) --o;
    while (o < out && first_pixel(o) < i) ++o;
    return o;
  }
};

}  // namespace ptrain

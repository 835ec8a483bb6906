// The pixels of a region's bins along one axis.
#pragma once

#include "core/ops/math/roi_align.h"

#include <cstdint>
#include <span>
#include <vector>

namespace ptrain::cpu {

/// The pixels that each bin of an axis reads, and their shares. Samples of a bin read few pixels, some of them several
/// times: shares are summed by pixel.
class BinPixels {
 public:
  struct Share {
    std::int64_t pixel;
    float share;
  };

  void read(const RoiAxis& axis, int bins) {
    shares_.clear();
    ends_.assign(1, 0);
    for (int bin = 0; bin < bins; ++bin) {
      for (int i = 0; i < axis.samples; ++i) {
        const RoiAxis::Tap tap = axis.tap(bin, i);
        add(tap.first, tap.first_share / static_cast<float>(axis.samples));
        add(tap.second, tap.second_share / static_cast<float>(axis.samples));
      }
      ends_.push_back(shares_.size());
    }
  }

  std::span<const Share> operator[](int bin) const {
    const auto i = static_cast<std::size_t>(bin);
    return std::span(shares_).subspan(ends_[i], ends_[i + 1] - ends_[i]);
  }

 private:
  void add(std::int64_t pixel, float share) {
    if (share == 0) return;
    for (std::size_t i = ends_.back(); i < shares_.size(); ++i) {
      if (shares_[i].pixel != pixel) continue;
      shares_[i].share += share;
      return;
    }
    shares_.push_back({pixel, share});
  }

  std::vector<Share> shares_;
  std::vector<std::size_t> ends_{0};  // before the first bin, and after each
};

}  // namespace ptrain::cpu

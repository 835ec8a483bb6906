// The row arithmetic of layer normalisation, forward and backward, and the sums over rows of gamma's and beta's
// gradients.
#pragma once

#include "core/base/parallel.h"
#include "core/cpu/simd/vector.h"

#include <algorithm>
#include <cmath>
#include <cstddef>

namespace ptrain::cpu {

inline constexpr std::int64_t row_grain = 4;

struct RowStatistics {
  float mean;
  float rstd;
};

/// Zero in the lanes beyond a row's end.
PTRAIN_INLINE f32x16 only(AllLanes, f32x16 v) { return v; }
PTRAIN_INLINE f32x16 only(SomeLanes some, f32x16 v) {
  float part[lanes];
  store16(part, v);
  return some.load(part);
}

/// Two passes over the row, which stays in the first-level cache: the mean, then the variance around it.
template <typename T>
RowStatistics row_statistics(const T* x, std::int64_t width, float epsilon) {
  f32x16 sum{};
  for_channels(width, [&](std::int64_t c, auto access) { sum += access.load(x + c); });
  const float mean = total(sum) / static_cast<float>(width);
  f32x16 squares{};
  for_channels(width, [&](std::int64_t c, auto access) {
    const f32x16 d = only(access, access.load(x + c) - mean);
    squares += d * d;
  });
  return {mean, 1.0f / std::sqrt(total(squares) / static_cast<float>(width) + epsilon)};
}

/// y [width] = (x - mean) rstd gamma + beta, of one row.
template <typename T, typename Y>
void normalise_row(const T* x, RowStatistics s, const float* gamma, const float* beta, std::int64_t width, Y* y) {
  for_channels(width, [&](std::int64_t c, auto access) {
    access.store(y + c, (access.load(x + c) - s.mean) * s.rstd * access.load(gamma + c) + access.load(beta + c));
  });
}

/// Means over a row of dy gamma and of dy gamma xhat.
struct RowSums {
  float gradient;
  float projected;
};

/// A row of gradients: one tensor's or the sum of two.
template <typename D>
struct Gradients {
  const D* dy;
  template <typename Access>
  PTRAIN_INLINE f32x16 load(std::int64_t c, Access access) const {
    return access.load(dy + c);
  }
};
template <typename L>
struct SummedGradients {
  const float* dy;
  const L* more;
  template <typename Access>
  PTRAIN_INLINE f32x16 load(std::int64_t c, Access access) const {
    return access.load(dy + c) + access.load(more + c);
  }
};

/// Also adds the row's share of dgamma = sum dy xhat and dbeta = sum dy.
template <typename Row, typename T>
RowSums grad_row_sums(const Row& dy, const T* x, RowStatistics s, const float* gamma, std::int64_t width, float* dgamma,
                      float* dbeta) {
  f32x16 gradient{};
  f32x16 projected{};
  for_channels(width, [&](std::int64_t c, auto access) {
    const f32x16 d = dy.load(c, access);  // 0 beyond the end, and so is all that it multiplies
    const f32x16 normal = (access.load(x + c) - s.mean) * s.rstd;
    const f32x16 scaled = d * access.load(gamma + c);
    access.store(dgamma + c, access.load(dgamma + c) + d * normal);
    access.store(dbeta + c, access.load(dbeta + c) + d);
    gradient += scaled;
    projected += scaled * normal;
  });
  return {total(gradient) / static_cast<float>(width), total(projected) / static_cast<float>(width)};
}

/// dx of 16 elements of a row.
PTRAIN_INLINE f32x16 grad_elements(f32x16 dy, f32x16 x, f32x16 gamma, RowStatistics s, RowSums sums) {
  const f32x16 normal = (x - s.mean) * s.rstd;
  return s.rstd * (dy * gamma - sums.gradient - normal * sums.projected);
}

/// Sums of per-channel gradients: rows are split into one part per thread, each part is summed in row order, and the
/// parts are added in order.
class ChannelPartials {
 public:
  explicit ChannelPartials(std::int64_t width) : width_(width), parts_(thread_count()) {}

  std::size_t bytes() const { return static_cast<std::size_t>(2 * parts_ * width_) * sizeof(float); }

  /// Calls row(r, dgamma, dbeta) for each of `rows` with the sums of its part.
  template <typename Row>
  void for_parts(std::int64_t rows, float* partials, Row&& row) const {
    parallel_for(parts_, 1, [&](std::int64_t first, std::int64_t last) {
      for (std::int64_t part = first; part < last; ++part) {
        float* dgamma = partials + 2 * part * width_;
        float* dbeta = dgamma + width_;
        std::fill(dgamma, dgamma + 2 * width_, 0.0f);
        for (std::int64_t r = rows * part / parts_; r < rows * (part + 1) / parts_; ++r) row(r, dgamma, dbeta);
      }
    });
  }
  /// dbeta: null for a norm without an offset.
  void reduce(const float* partials, float* dgamma, float* dbeta) const {
    add_parts(partials, dgamma);
    if (dbeta != nullptr) add_parts(partials + width_, dbeta);
  }

 private:
  void add_parts(const float* partials, float* sums) const {
    std::copy(partials, partials + width_, sums);
    for (std::int64_t part = 1; part < parts_; ++part) {
      const float* more = partials + 2 * part * width_;
      for (std::int64_t c = 0; c < width_; ++c) sums[c] += more[c];
    }
  }

  std::int64_t width_;
  std::int64_t parts_;
};

}  // namespace ptrain::cpu

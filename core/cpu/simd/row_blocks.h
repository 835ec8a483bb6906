// Iteration over data seen as rows of channels, for kernels that reduce over rows and then map every element.
#pragma once

#include "core/base/parallel.h"
#include "core/cpu/simd/vector.h"
#include "core/graph/tensor_desc.h"

#include <type_traits>

namespace ptrain::cpu {

/// Neighbouring rows per step, so that per-channel coefficients stay in registers for all of them.
inline constexpr std::int64_t most_rows = 8;

template <typename Access>
struct Rows {
  std::int64_t first, count;

  /// Calls body(row); where all lanes are accessed, unrolled over most_rows.
  template <typename Body>
  PTRAIN_INLINE void each(Body&& body) const {
    if (std::is_same_v<Access, AllLanes> && count == most_rows) {
#pragma GCC unroll 8
      for (std::int64_t i = 0; i < most_rows; ++i) body(first + i);
    } else {
      for (std::int64_t i = 0; i < count; ++i) body(first + i);
    }
  }
};

/// A pass in the opposite order of the previous pass, or of the writer of the data, finds its last rows in the cache.
enum class Order { forward, backward };

/// Divides rows into blocks; the division depends on the shape only.
struct RowBlocks {
  std::int64_t channels, count, block_rows, blocks;

  explicit RowBlocks(const TensorDesc& data)
      : channels(data.shape[-1]),
        count(data.count() / channels),
        block_rows(std::max<std::int64_t>(64, (std::int64_t{1} << 15) / channels / most_rows * most_rows)),
        blocks((count + block_rows - 1) / block_rows) {}

  /// Size of the partial sums: two per channel and block.
  std::size_t partial_floats() const { return static_cast<std::size_t>(2 * channels * blocks); }

  /// Calls body(channel, access, rows) for every part of the data.
  template <typename Body>
  void map(Order order, Body&& body) const {
    for_blocks(order, [&](std::int64_t, std::int64_t begin, std::int64_t end) {
      for (std::int64_t row = begin; row < end; row += most_rows) {
        const std::int64_t at_once = std::min(most_rows, end - row);
        for_channels(channels, [&](std::int64_t c, auto access) {
          body(c, access, Rows<decltype(access)>{row, at_once});
        });
      }
    });
  }

  /// Calls body(channel, access, rows, sum1, sum2) likewise; the sums of each block go to `partial`.
  template <typename Body>
  void sums(float* partial, Order order, Body&& body) const {
    for_blocks(order, [&](std::int64_t block, std::int64_t begin, std::int64_t end) {
      float* sum1 = partial + 2 * channels * block;
      float* sum2 = sum1 + channels;
      std::fill(sum1, sum1 + 2 * channels, 0.0f);
      for (std::int64_t row = begin; row < end; row += most_rows) {
        const std::int64_t at_once = std::min(most_rows, end - row);
        for_channels(channels, [&](std::int64_t c, auto access) {
          f32x16 s1 = access.load(sum1 + c), s2 = access.load(sum2 + c);
          body(c, access, Rows<decltype(access)>{row, at_once}, s1, s2);
          access.store(sum1 + c, s1);
          access.store(sum2 + c, s2);
        });
      }
    });
  }

  /// Calls body(channel, total1, total2) for every channel.
  template <typename Body>
  void reduce(const float* partial, Body&& body) const {
    parallel_for(channels, 256, [&](std::int64_t begin, std::int64_t end) {
      for (std::int64_t c = begin; c < end; ++c) {
        double total1 = 0, total2 = 0;
        for (std::int64_t block = 0; block < blocks; ++block) {
          total1 += static_cast<double>(partial[2 * channels * block + c]);
          total2 += static_cast<double>(partial[2 * channels * block + channels + c]);
        }
        body(c, total1, total2);
      }
    });
  }

 private:
  template <typename Body>
  void for_blocks(Order order, Body&& body) const {
    parallel_for(blocks, 1, [&](std::int64_t first, std::int64_t last) {
      for (std::int64_t i = 0; i < last - first; ++i) {
        const std::int64_t block = order == Order::forward ? first + i : last - 1 - i;
        body(block, block * block_rows, std::min(count, (block + 1) * block_rows));
      }
    });
  }
};

}  // namespace ptrain::cpu

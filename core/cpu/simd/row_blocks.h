// Iteration over data seen as rows of channels, for kernels that reduce over rows and then map every element.
#pragma once

#include "core/base/parallel.h"
#include "core/cpu/simd/vector.h"
#include "core/graph/tensor_desc.h"

#include <algorithm>
#include <type_traits>

namespace ptrain::cpu {

/// Neighbouring rows per step, so that per-channel coefficients stay in registers for all of them.
inline constexpr std::int64_t most_rows = 8;

/// Sixteen channels of neighbouring rows. Where `fetches`, whatever is read or written also fetches the row most_rows
/// later: going from row to row hides from the processor that memory is needed in its order.
template <typename Access, bool fetches>
struct Rows {
  std::int64_t first, count, channels;
  Access access;

  template <typename T>
  PTRAIN_INLINE f32x16 load(const T* from) const {
    if constexpr (fetches) __builtin_prefetch(from + most_rows * channels);
    return access.load(from);
  }
  template <typename T>
  PTRAIN_INLINE void store(T* to, f32x16 v) const {
    if constexpr (fetches) __builtin_prefetch(to + most_rows * channels, 1);
    access.store(to, v);
  }

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
  /// Where sixteen elements are half a cache line; most_rows long rows of several tensors would displace each other in
  /// the cache.
  bool fetching;

  explicit RowBlocks(const TensorDesc& data)
      : channels(data.shape[-1]),
        count(data.count() / channels),
        block_rows(std::max<std::int64_t>(64, (std::int64_t{1} << 15) / channels / most_rows * most_rows)),
        blocks((count + block_rows - 1) / block_rows),
        fetching(element_size(data.dtype) == 2 && channels <= 1024) {}

  /// Size of the partial sums: two per channel and block.
  std::size_t partial_floats() const { return static_cast<std::size_t>(2 * channels * blocks); }

  /// Calls body(channel, access, rows) for every part of the data.
  template <typename Body>
  void map(Order order, Body&& body) const {
    for_blocks(order, [&](std::int64_t, const auto& each) { each(body); });
  }

  /// Calls body(channel, access, rows, sum1, sum2) likewise; the sums of each block go to `partial`.
  template <typename Body>
  void sums(float* partial, Order order, Body&& body) const {
    for_blocks(order, [&](std::int64_t block, const auto& each) {
      float* sum1 = partial + 2 * channels * block;
      float* sum2 = sum1 + channels;
      std::fill(sum1, sum1 + 2 * channels, 0.0f);
      each([&](std::int64_t c, auto access, const auto& rows) {
        f32x16 s1 = access.load(sum1 + c), s2 = access.load(sum2 + c);
        body(c, access, rows, s1, s2);
        access.store(sum1 + c, s1);
        access.store(sum2 + c, s2);
      });
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
  /// Calls body(block, each), where each(part) calls part(channel, access, rows) for every part of the block.
  template <typename Body>
  void for_blocks(Order order, Body&& body) const {
    parallel_for(blocks, 1, [&](std::int64_t first, std::int64_t last) {
      for (std::int64_t i = 0; i < last - first; ++i) {
        const std::int64_t block = order == Order::forward ? first + i : last - 1 - i;
        body(block, [&](const auto& part) { fetching ? for_parts<true>(block, part) : for_parts<false>(block, part); });
      }
    });
  }

  template <bool fetches, typename Part>
  void for_parts(std::int64_t block, const Part& part) const {
    const std::int64_t end = std::min(count, (block + 1) * block_rows);
    for (std::int64_t row = block * block_rows; row < end; row += most_rows) {
      for_channels(channels, [&](std::int64_t c, auto access) {
        part(c, access, Rows<decltype(access), fetches>{row, std::min(most_rows, end - row), channels, access});
      });
    }
  }
};

}  // namespace ptrain::cpu

// Maps a dtype at run time to a kernel's template arguments, and computes launch sizes.
#pragma once

#include "core/base/dtype.h"
#include "core/cuda/device/device.h"

#include <algorithm>
#include <cstdint>
#include <type_traits>

namespace ptrain::cuda {

inline constexpr int block_threads = 256;

/// Blocks for a grid-stride loop over `work` items, one thread each: at most as many as the device holds at once.
inline int grid_blocks(const Device& device, std::int64_t work, int threads = block_threads) {
  const std::int64_t wanted = (work + threads - 1) / threads;
  const std::int64_t resident = static_cast<std::int64_t>(device.multiprocessors()) * 2048 / threads;
  return static_cast<int>(std::clamp<std::int64_t>(wanted, 1, resident));
}

/// Blocks of `per_block` items each; the last one may have fewer.
inline unsigned blocks_for(std::int64_t items, std::int64_t per_block = block_threads) {
  return static_cast<unsigned>((items + per_block - 1) / per_block);
}

/// Elements per access: 16 bytes of a 16-bit type, twice 16 of fp32.
inline constexpr int pack = 8;

/// Adjacent elements of a row that a thread takes at once: packs need aligned rows.
inline int row_pack(std::int64_t width) { return width % pack == 0 ? pack : 1; }

/// Calls visit(integral_constant) with the pack that rows of `width` allow.
template <typename Visitor>
void visit_row_pack(std::int64_t width, Visitor&& visit) {
  if (row_pack(width) == pack) {
    visit(std::integral_constant<int, pack>{});
  } else {
    visit(std::integral_constant<int, 1>{});
  }
}

/// Calls visit(integral_constant, T{}) with the pack that rows of `width` allow and the storage type of a floating
/// dtype.
template <typename Visitor>
void visit_row_pack(std::int64_t width, DType dtype, Visitor&& visit) {
  visit_row_pack(width, [&](auto n) { visit_floating(dtype, [&](auto zero) { visit(n, zero); }); });
}

/// Calls visit(A{}, B{}) with the storage types of two floating dtypes.
template <typename Visitor>
auto visit_floating2(DType a, DType b, Visitor&& visit) {
  return visit_floating(
      a, [&](auto first) { return visit_floating(b, [&](auto second) { return visit(first, second); }); });
}

}  // namespace ptrain::cuda

// From a dtype at run time to a kernel's template arguments, and how many blocks to launch.
#pragma once

#include "core/base/dtype.h"
#include "core/cuda/device.h"

#include <algorithm>
#include <cstdint>

namespace ptrain::cuda {

inline constexpr int block_threads = 256;

/// Blocks for a grid-stride loop over `work` items, one thread each: no more than the device holds at once.
inline int grid_blocks(const Device& device, std::int64_t work, int threads = block_threads) {
  const std::int64_t wanted = (work + threads - 1) / threads;
  const std::int64_t resident = static_cast<std::int64_t>(device.multiprocessors()) * 2048 / threads;
  return static_cast<int>(std::clamp<std::int64_t>(wanted, 1, resident));
}

/// Calls visit(A{}, B{}) with the storage types of two floating dtypes.
template <typename Visitor>
auto visit_floating2(DType a, DType b, Visitor&& visit) {
  return visit_floating(
      a, [&](auto first) { return visit_floating(b, [&](auto second) { return visit(first, second); }); });
}

}  // namespace ptrain::cuda

// y[i] = function(a[i], b[i]...) in f32 for flat tensors of one length.
#pragma once

#include "core/cuda/primitives/dispatch.h"
#include "core/cuda/primitives/launch.cuh"
#include "core/cuda/primitives/vector.cuh"

namespace ptrain::cuda {

/// No __restrict__: y may be one of the inputs. Every element is read before it is written, by the same thread.
template <typename Function, typename Y, typename... X>
__global__ void __launch_bounds__(block_threads)
    map_kernel(std::int64_t count, Function function, Y* y, const X*... x) {
  const std::int64_t packs = count / pack;
  for (std::int64_t p = grid_thread(); p < packs; p += grid_threads()) {
    float inputs[sizeof...(X)][pack];
    int next = 0;
    (load(x + p * pack, inputs[next++]), ...);
    float result[pack];
#pragma unroll
    for (int i = 0; i < pack; ++i) {
      if constexpr (sizeof...(X) == 1) result[i] = function(inputs[0][i]);
      if constexpr (sizeof...(X) == 2) result[i] = function(inputs[0][i], inputs[1][i]);
      if constexpr (sizeof...(X) == 3) result[i] = function(inputs[0][i], inputs[1][i], inputs[2][i]);
    }
    store(y + p * pack, result);
  }
  for (std::int64_t i = packs * pack + grid_thread(); i < count; i += grid_threads()) {
    y[i] = from_float<Y>(function(to_float(x[i])...));
  }
}

/// Launches the kernel with one to three inputs. All pointers are aligned to 16 bytes.
template <typename Function, typename Y, typename... X>
void map_elements(const Device& device, std::int64_t count, Function function, Y* y, const X*... x) {
  static_assert(sizeof...(X) >= 1 && sizeof...(X) <= 3);
  if (count == 0) return;
  launch(map_kernel<Function, Y, X...>, grid_blocks(device, count / pack + 1), block_threads, device, count, function,
         y, x...);
}

}  // namespace ptrain::cuda

// Copies x's elements to y in another order, for any element type.
#pragma once

#include "core/cuda/primitives/launch.cuh"
#include "core/cuda/primitives/vector.cuh"
#include "core/exec/kernel.h"
#include "core/ops/math/element_size.h"
#include "core/ops/math/strided_index.h"

namespace ptrain::cuda {

template <typename T>
__global__ void __launch_bounds__(block_threads)
    gather_elements_kernel(std::int64_t count, StridedIndex index, const T* x, T* y) {
  for (std::int64_t i = grid_thread(); i < count; i += grid_threads()) y[i] = x[index.offset(i)];
}

/// Element i of the only output is the first input's at index.offset(i).
inline void gather_elements(const Device& device, const TensorDesc& output, const StridedIndex& index,
                            const KernelArgs& args) {
  visit_size(output.dtype, [&](auto zero) {
    using T = decltype(zero);
    launch(gather_elements_kernel<T>, grid_blocks(device, output.count()), block_threads, device, output.count(), index,
           static_cast<const T*>(args.inputs[0]), static_cast<T*>(args.outputs[0]));
  });
}

}  // namespace ptrain::cuda

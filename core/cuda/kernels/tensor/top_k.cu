// One block per row: repeatedly takes the first of the elements that come after the last one taken.
#include "core/ops/tensor/top_k.h"

#include "core/cuda/cuda_kernels.h"
#include "core/cuda/primitives/launch.cuh"
#include "core/cuda/primitives/vector.cuh"
#include "core/ops/math/descending.h"

namespace ptrain::cuda {
namespace {

struct Candidate {
  float value;
  std::int32_t index;  // -1: none

  __device__ void take_first(Candidate other) {
    if (other.index < 0) return;
    if (index < 0 || comes_before(other.value, other.index, value, index)) *this = other;
  }
};

/// The first of all threads' candidates, returned to every thread. All threads of the block call it.
__device__ inline Candidate first_of_block(Candidate mine) {
  __shared__ Candidate warps[block_threads / 32];
#pragma unroll
  for (int distance = 16; distance > 0; distance /= 2) {
    const float value = __shfl_xor_sync(0xffffffffu, mine.value, distance);
    const std::int32_t index = __shfl_xor_sync(0xffffffffu, mine.index, distance);
    mine.take_first({value, index});
  }
  __syncthreads();  // the last call's have been read
  if (threadIdx.x % 32 == 0) warps[threadIdx.x / 32] = mine;
  __syncthreads();
  for (const Candidate& other : warps) mine.take_first(other);
  return mine;
}

template <typename T>
__global__ void __launch_bounds__(block_threads)
    top_k_kernel(std::int64_t rows, std::int64_t width, std::int64_t k, const T* x, T* values, std::int32_t* indices) {
  for (std::int64_t row = blockIdx.x; row < rows; row += gridDim.x) {
    Candidate last{0, -1};
    for (std::int64_t j = 0; j < k; ++j) {
      Candidate first{0, -1};
      for (std::int64_t i = threadIdx.x; i < width; i += block_threads) {
        const Candidate here{to_float(x[row * width + i]), static_cast<std::int32_t>(i)};
        if (last.index < 0 || comes_before(last.value, last.index, here.value, here.index)) first.take_first(here);
      }
      last = first_of_block(first);
      if (threadIdx.x != 0) continue;
      values[row * k + j] = x[row * width + last.index];
      indices[row * k + j] = last.index;
    }
  }
}

class TopKKernel final : public Kernel {
 public:
  TopKKernel(const KernelContext& context, Device& device)
      : device_(device), k_(context.op_as<TopK>().k()), x_(context.inputs[0]) {}

  void run(const KernelArgs& args) override {
    const std::int64_t width = x_.shape[-1], rows = x_.count() / width;
    visit_floating(x_.dtype, [&](auto zero) {
      using T = decltype(zero);
      launch(top_k_kernel<T>, grid_blocks(device_, rows * block_threads), block_threads, device_, rows, width, k_,
             static_cast<const T*>(args.inputs[0]), static_cast<T*>(args.outputs[TopK::values]),
             static_cast<std::int32_t*>(args.outputs[TopK::indices]));
    });
  }

 private:
  Device& device_;
  std::int64_t k_;
  TensorDesc x_;
};

}  // namespace

std::unique_ptr<Kernel> make_top_k(const KernelContext& context, Device& device) {
  return std::make_unique<TopKKernel>(context, device);
}

}  // namespace ptrain::cuda

// One block per id: the block of an id's first occurrence adds up the rows of all its occurrences in order; the others
// write zeros. So no sorting is needed, and every run gives the same bits.
#include "core/ops/sparse/sparse_gradient.h"

#include "core/cuda/cuda_kernels.h"
#include "core/cuda/device/check.h"
#include "core/cuda/primitives/dispatch.h"
#include "core/cuda/primitives/launch.cuh"

namespace ptrain::cuda {
namespace {

/// `values` is zeroed.
struct Entries {
  std::int64_t count;
  std::int64_t width;
  std::int64_t in_bag;  // ids per row of dy
  const std::int32_t* ids;
  const float* dy;
  std::int32_t* rows;
  float* values;
};

/// Whether an earlier entry has this block's id; the same in all threads.
__device__ bool repeats(const Entries& e, std::int64_t entry, std::int32_t id) {
  for (std::int64_t begin = 0; begin < entry; begin += block_threads) {
    const std::int64_t i = begin + threadIdx.x;
    if (__syncthreads_or(i < entry && e.ids[i] == id ? 1 : 0) != 0) return true;
  }
  return false;
}

__global__ void __launch_bounds__(block_threads) join_rows_kernel(Entries e) {
  __shared__ std::int32_t matches[block_threads];
  __shared__ int match_count;
  const std::int64_t entry = blockIdx.x;
  const std::int32_t id = e.ids[entry];
  const bool is_none = id < 0 || repeats(e, entry, id);
  if (threadIdx.x == 0) e.rows[entry] = is_none ? -1 : id;
  if (is_none) return;
  float* row = e.values + entry * e.width;
  for (std::int64_t begin = entry; begin < e.count; begin += block_threads) {
    const std::int64_t i = begin + threadIdx.x;
    const int mine = i < e.count && e.ids[i] == id ? 1 : 0;
    matches[threadIdx.x] = mine;
    if (__syncthreads_or(mine) == 0) continue;
    if (threadIdx.x == 0) {  // in order
      match_count = 0;
      for (int k = 0; k < block_threads; ++k) {
        if (matches[k] != 0) matches[match_count++] = k;
      }
    }
    __syncthreads();
    for (std::int64_t c = threadIdx.x; c < e.width; c += block_threads) {
      float sum = row[c];
#pragma unroll 8
      for (int k = 0; k < match_count; ++k) sum += e.dy[(begin + matches[k]) / e.in_bag * e.width + c];
      row[c] = sum;
    }
    __syncthreads();
  }
}

class SparseGradientKernel final : public Kernel {
 public:
  SparseGradientKernel(const KernelContext& context, Device& device)
      : device_(device),
        count_(context.outputs[SparseGradient::values].shape[0]),
        width_(context.outputs[SparseGradient::values].shape[1]),
        in_bag_(count_ * width_ / context.inputs[SparseGradient::dy].count()) {}

  void run(const KernelArgs& args) override {
    const Entries entries{count_,
                          width_,
                          in_bag_,
                          static_cast<const std::int32_t*>(args.inputs[SparseGradient::ids]),
                          static_cast<const float*>(args.inputs[SparseGradient::dy]),
                          static_cast<std::int32_t*>(args.outputs[SparseGradient::rows]),
                          static_cast<float*>(args.outputs[SparseGradient::values])};
    const auto bytes = static_cast<std::size_t>(count_ * width_) * sizeof(float);
    CUDA_CHECK(cudaMemsetAsync(entries.values, 0, bytes, device_.stream()));
    launch(join_rows_kernel, static_cast<unsigned>(count_), block_threads, device_, entries);
  }

 private:
  Device& device_;
  std::int64_t count_;
  std::int64_t width_;
  std::int64_t in_bag_;
};

}  // namespace

std::unique_ptr<Kernel> make_sparse_gradient(const KernelContext& context, Device& device) {
  return std::make_unique<SparseGradientKernel>(context, device);
}

}  // namespace ptrain::cuda

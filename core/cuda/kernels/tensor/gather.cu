// One thread for each gathered element. Rows are added up in order, into zeros, by the block of the first row with
// their index.
#include "core/ops/tensor/gather.h"

#include "core/cuda/cuda_kernels.h"
#include "core/cuda/device/check.h"
#include "core/cuda/kernels/tensor/gather_elements.cuh"

namespace ptrain::cuda {
namespace {

template <typename T>
__global__ void __launch_bounds__(block_threads)
    gather_kernel(GatherExtent e, const T* x, const std::int32_t* indices, T* y) {
  const std::int64_t count = e.batches * e.outer * e.picked * e.inner;
  for (std::int64_t i = grid_thread(); i < count; i += grid_threads()) {
    const std::int64_t row = i / e.inner, block = row / e.picked;
    const std::int32_t from = indices[block / e.outer * e.picked + row % e.picked];
    y[i] = from >= 0 && from < e.extent ? x[(block * e.extent + from) * e.inner + i % e.inner] : T{};
  }
}

template <typename T>
__global__ void __launch_bounds__(block_threads)
    scatter_add_kernel(GatherExtent e, const T* rows, const std::int32_t* indices, T* y) {
  for (std::int64_t task = blockIdx.x; task < e.batches * e.picked; task += gridDim.x) {
    const std::int64_t batch = task / e.picked, first = task % e.picked;
    const std::int32_t* numbers = indices + batch * e.picked;
    const std::int32_t number = numbers[first];
    if (number < 0 || number >= e.extent) continue;
    bool is_first = true;
    for (std::int64_t begin = 0; begin < first && is_first; begin += block_threads) {
      const std::int64_t k = begin + threadIdx.x;
      is_first = __syncthreads_or(k < first && numbers[k] == number ? 1 : 0) == 0;
    }
    if (!is_first) continue;  // an earlier row's block does it
    for (std::int64_t i = threadIdx.x; i < e.outer * e.inner; i += block_threads) {
      const std::int64_t block = batch * e.outer + i / e.inner;
      float sum = 0;
      for (std::int64_t k = first; k < e.picked; ++k) {
        if (numbers[k] == number) sum += to_float(rows[(block * e.picked + k) * e.inner + i % e.inner]);
      }
      y[(block * e.extent + number) * e.inner + i % e.inner] = from_float<T>(sum);
    }
  }
}

class GatherKernel final : public Kernel {
 public:
  GatherKernel(const KernelContext& context, Device& device)
      : device_(device),
        output_(context.outputs[0]),
        extent_(gather_extent(context.op_as<Gather>().attrs(), context.inputs[Gather::x].shape,
                              context.inputs[Gather::indices].shape)) {}

  void run(const KernelArgs& args) override {
    visit_size(output_.dtype, [&](auto zero) {
      using T = decltype(zero);
      launch(gather_kernel<T>, grid_blocks(device_, output_.count()), block_threads, device_, extent_,
             static_cast<const T*>(args.inputs[Gather::x]),
             static_cast<const std::int32_t*>(args.inputs[Gather::indices]), static_cast<T*>(args.outputs[0]));
    });
  }

 private:
  Device& device_;
  TensorDesc output_;
  GatherExtent extent_;
};

class ScatterAddKernel final : public Kernel {
 public:
  ScatterAddKernel(const KernelContext& context, Device& device)
      : device_(device),
        output_(context.outputs[0]),
        extent_(gather_extent(context.op_as<ScatterAdd>().attrs(), output_.shape,
                              context.inputs[ScatterAdd::indices].shape)) {}

  void run(const KernelArgs& args) override {
    CUDA_CHECK(cudaMemsetAsync(args.outputs[0], 0, output_.bytes(), device_.stream()));
    visit_floating(output_.dtype, [&](auto zero) {
      using T = decltype(zero);
      const std::int64_t tasks = extent_.batches * extent_.picked;
      launch(scatter_add_kernel<T>, grid_blocks(device_, tasks * block_threads), block_threads, device_, extent_,
             static_cast<const T*>(args.inputs[ScatterAdd::rows]),
             static_cast<const std::int32_t*>(args.inputs[ScatterAdd::indices]), static_cast<T*>(args.outputs[0]));
    });
  }

 private:
  Device& device_;
  TensorDesc output_;
  GatherExtent extent_;
};

}  // namespace

std::unique_ptr<Kernel> make_gather(const KernelContext& context, Device& device) {
  return std::make_unique<GatherKernel>(context, device);
}
std::unique_ptr<Kernel> make_scatter_add(const KernelContext& context, Device& device) {
  return std::make_unique<ScatterAddKernel>(context, device);
}

}  // namespace ptrain::cuda

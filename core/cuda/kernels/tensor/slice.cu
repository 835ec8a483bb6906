// One thread per element of the result.
#include "core/ops/tensor/slice.h"

#include "core/cuda/cuda_kernels.h"
#include "core/cuda/kernels/tensor/gather_elements.cuh"

namespace ptrain::cuda {
namespace {

template <typename T>
__global__ void __launch_bounds__(block_threads) take_slice_kernel(SliceExtent e, const T* x, T* y) {
  for (std::int64_t i = grid_thread(); i < e.outer * e.part; i += grid_threads()) {
    y[i] = x[i / e.part * e.whole + e.begin + i % e.part];
  }
}

template <typename T>
__global__ void __launch_bounds__(block_threads) put_slice_kernel(SliceExtent e, const T* dy, T* dx) {
  for (std::int64_t i = grid_thread(); i < e.outer * e.whole; i += grid_threads()) {
    const std::int64_t at = i % e.whole - e.begin;
    dx[i] = at >= 0 && at < e.part ? dy[i / e.whole * e.part + at] : T{};
  }
}

class SliceKernel final : public Kernel {
 public:
  SliceKernel(const KernelContext& context, Device& device)
      : device_(device),
        output_(context.outputs[0]),
        extent_(slice_extent(context.op_as<Slice>().attrs(), context.inputs[0].shape)) {}

  void run(const KernelArgs& args) override {
    visit_size(output_.dtype, [&](auto zero) {
      using T = decltype(zero);
      launch(take_slice_kernel<T>, grid_blocks(device_, output_.count()), block_threads, device_, extent_,
             static_cast<const T*>(args.inputs[0]), static_cast<T*>(args.outputs[0]));
    });
  }

 private:
  Device& device_;
  TensorDesc output_;
  SliceExtent extent_;
};

class SliceGradKernel final : public Kernel {
 public:
  SliceGradKernel(const KernelContext& context, Device& device)
      : device_(device),
        output_(context.outputs[0]),
        extent_(slice_extent(context.op_as<SliceGrad>().attrs(), output_.shape)) {}

  void run(const KernelArgs& args) override {
    visit_size(output_.dtype, [&](auto zero) {
      using T = decltype(zero);
      launch(put_slice_kernel<T>, grid_blocks(device_, output_.count()), block_threads, device_, extent_,
             static_cast<const T*>(args.inputs[0]), static_cast<T*>(args.outputs[0]));
    });
  }

 private:
  Device& device_;
  TensorDesc output_;
  SliceExtent extent_;
};

}  // namespace

std::unique_ptr<Kernel> make_slice(const KernelContext& context, Device& device) {
  return std::make_unique<SliceKernel>(context, device);
}
std::unique_ptr<Kernel> make_slice_grad(const KernelContext& context, Device& device) {
  return std::make_unique<SliceGradKernel>(context, device);
}

}  // namespace ptrain::cuda

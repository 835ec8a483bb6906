#include "core/ops/text/swiglu.h"

#include "core/cuda/cuda_kernels.h"
#include "core/cuda/primitives/dispatch.h"
#include "core/cuda/primitives/launch.cuh"
#include "core/cuda/primitives/vector.cuh"
#include "core/ops/math/activation_math.h"

namespace ptrain::cuda {
namespace {

/// A thread takes n elements of y.
template <int n, typename T>
__global__ void __launch_bounds__(block_threads)
    swiglu_kernel(std::int64_t count, std::int64_t width, const T* x, T* y) {
  for (std::int64_t i = grid_thread() * n; i < count; i += grid_threads() * n) {
    const T* const at = x + i + i / width * width;  // the gate
    float gate[n], up[n];
    load(at, gate);
    load(at + width, up);
#pragma unroll
    for (int k = 0; k < n; ++k) gate[k] = activate<Activation::silu>(gate[k]) * up[k];
    store(y + i, gate);
  }
}

template <int n, typename T, typename D>
__global__ void __launch_bounds__(block_threads)
    swiglu_grad_kernel(std::int64_t count, std::int64_t width, const T* x, const D* dy, T* dx) {
  for (std::int64_t i = grid_thread() * n; i < count; i += grid_threads() * n) {
    const std::int64_t at = i + i / width * width;
    float gate[n], up[n], d[n];
    load(x + at, gate);
    load(x + at + width, up);
    load(dy + i, d);
#pragma unroll
    for (int k = 0; k < n; ++k) {
      const float dgate = activation_gradient<Activation::silu>(d[k] * up[k], gate[k]);
      up[k] = d[k] * activate<Activation::silu>(gate[k]);
      gate[k] = dgate;
    }
    store(dx + at, gate);
    store(dx + at + width, up);
  }
}

class SwiGluKernel final : public Kernel {
 public:
  SwiGluKernel(const KernelContext& context, Device& device) : device_(device), y_(context.outputs[0]) {}

  void run(const KernelArgs& args) override {
    visit_row_pack(y_.shape[-1], y_.dtype, [&](auto n, auto zero) {
      constexpr int packed = decltype(n)::value;
      using T = decltype(zero);
      launch(swiglu_kernel<packed, T>, grid_blocks(device_, y_.count() / packed), block_threads, device_, y_.count(),
             y_.shape[-1], static_cast<const T*>(args.inputs[0]), static_cast<T*>(args.outputs[0]));
    });
  }

 private:
  Device& device_;
  TensorDesc y_;
};

class SwiGluGradKernel final : public Kernel {
  using Op = SwiGluGrad;

 public:
  SwiGluGradKernel(const KernelContext& context, Device& device)
      : device_(device), dtype_(context.inputs[Op::x].dtype), dy_(context.inputs[Op::dy]) {}

  void run(const KernelArgs& args) override {
    visit_row_pack(dy_.shape[-1], [&](auto n) {
      visit_floating2(dtype_, dy_.dtype, [&](auto zero, auto dy_zero) {
        constexpr int packed = decltype(n)::value;
        using T = decltype(zero);
        using D = decltype(dy_zero);
        launch(swiglu_grad_kernel<packed, T, D>, grid_blocks(device_, dy_.count() / packed), block_threads, device_,
               dy_.count(), dy_.shape[-1], static_cast<const T*>(args.inputs[Op::x]),
               static_cast<const D*>(args.inputs[Op::dy]), static_cast<T*>(args.outputs[0]));
      });
    });
  }

 private:
  Device& device_;
  DType dtype_;
  TensorDesc dy_;
};

}  // namespace

std::unique_ptr<Kernel> make_swiglu(const KernelContext& context, Device& device) {
  return std::make_unique<SwiGluKernel>(context, device);
}
std::unique_ptr<Kernel> make_swiglu_grad(const KernelContext& context, Device& device) {
  return std::make_unique<SwiGluGradKernel>(context, device);
}

}  // namespace ptrain::cuda

// layer_norm and dropout_add_layer_norm share their row arithmetic in layer_norm_rows.cuh.
#include "core/ops/normalization/layer_norm.h"

#include "core/cuda/cuda_kernels.h"
#include "core/cuda/kernels/layer_norm/layer_norm_rows.cuh"
#include "core/cuda/primitives/launch.cuh"

namespace ptrain::cuda {
namespace {

template <int n, typename T>
__global__ void __launch_bounds__(block_threads)
    layer_norm_kernel(const T* x, const float* gamma, const float* beta, std::int64_t rows, std::int64_t width,
                      float epsilon, T* y, float* mean, float* rstd) {
  const std::int64_t r = warp_row();
  if (r >= rows) return;
  const RowStatistics s = row_statistics<n>(x + r * width, width, epsilon);
  normalise_row<n>(x + r * width, s, gamma, beta, width, y + r * width);
  if (threadIdx.x % warp == 0) {
    mean[r] = s.mean;
    rstd[r] = s.rstd;
  }
}

template <int n, typename D, typename T>
__global__ void __launch_bounds__(block_threads)
    layer_norm_grad_kernel(const D* dy, const T* x, const float* gamma, const float* mean, const float* rstd,
                           std::int64_t rows, std::int64_t width, T* dx) {
  const std::int64_t r = warp_row();
  if (r >= rows) return;
  const RowStatistics s{mean[r], rstd[r]};
  const RowSums sums = grad_row_sums<n>(dy + r * width, x + r * width, s, gamma, width);
  write_row_gradient<n>(dy + r * width, x + r * width, gamma, s, sums, width, dx + r * width);
}

class LayerNormKernel final : public Kernel {
  using Op = LayerNorm;

 public:
  LayerNormKernel(const KernelContext& context, Device& device)
      : device_(device), x_(context.inputs[Op::x]), epsilon_(context.op_as<LayerNorm>().epsilon()) {}

  void run(const KernelArgs& args) override {
    const std::int64_t width = x_.shape[-1], rows = x_.count() / width;
    visit_row_pack(width, x_.dtype, [&](auto n, auto zero) {
      using T = decltype(zero);
      launch(layer_norm_kernel<decltype(n)::value, T>, blocks_for(rows, block_rows), block_threads, device_,
             static_cast<const T*>(args.inputs[Op::x]), static_cast<const float*>(args.inputs[Op::gamma]),
             static_cast<const float*>(args.inputs[Op::beta]), rows, width, epsilon_, static_cast<T*>(args.outputs[0]),
             static_cast<float*>(args.outputs[1]), static_cast<float*>(args.outputs[2]));
    });
  }

 private:
  Device& device_;
  TensorDesc x_;
  float epsilon_;
};

class LayerNormGradKernel final : public Kernel {
  using Op = LayerNormGrad;

 public:
  LayerNormGradKernel(const KernelContext& context, Device& device)
      : device_(device),
        dy_dtype_(context.inputs[Op::dy].dtype),
        x_(context.inputs[Op::x]),
        channels_(x_.count() / x_.shape[-1], x_.shape[-1]) {}

  std::size_t workspace_bytes() const override { return channels_.workspace_bytes(); }

  void run(const KernelArgs& args) override {
    visit_floating2(dy_dtype_, x_.dtype, [&](auto dy_zero, auto zero) {
      run_as(static_cast<const decltype(dy_zero)*>(args.inputs[Op::dy]),
             static_cast<const decltype(zero)*>(args.inputs[Op::x]), args);
    });
  }

 private:
  template <typename D, typename T>
  void run_as(const D* dy, const T* x, const KernelArgs& args) {
    const std::int64_t width = x_.shape[-1], rows = x_.count() / width;
    const auto* gamma = static_cast<const float*>(args.inputs[Op::gamma]);
    const auto* mean = static_cast<const float*>(args.inputs[Op::mean]);
    const auto* rstd = static_cast<const float*>(args.inputs[Op::rstd]);
    channels_.run(device_, dy, x, mean, rstd, args.workspace, static_cast<float*>(args.outputs[1]),
                  static_cast<float*>(args.outputs[2]));
    visit_row_pack(width, [&](auto n) {
      launch(layer_norm_grad_kernel<decltype(n)::value, D, T>, blocks_for(rows, block_rows), block_threads, device_, dy,
             x, gamma, mean, rstd, rows, width, static_cast<T*>(args.outputs[0]));
    });
  }

  Device& device_;
  DType dy_dtype_;
  TensorDesc x_;
  ChannelGradients channels_;
};

}  // namespace

std::unique_ptr<Kernel> make_layer_norm(const KernelContext& context, Device& device) {
  return std::make_unique<LayerNormKernel>(context, device);
}
std::unique_ptr<Kernel> make_layer_norm_grad(const KernelContext& context, Device& device) {
  return std::make_unique<LayerNormGradKernel>(context, device);
}

}  // namespace ptrain::cuda

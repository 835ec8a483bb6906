#include "core/ops/normalization/rms_norm.h"

#include "core/cuda/cuda_kernels.h"
#include "core/cuda/kernels/layer_norm/layer_norm_rows.cuh"
#include "core/cuda/primitives/launch.cuh"

namespace ptrain::cuda {
namespace {

/// One warp per row.
template <int n, typename T>
__global__ void __launch_bounds__(block_threads) rms_norm_kernel(const T* x, const float* gamma, std::int64_t rows,
                                                                 std::int64_t width, float epsilon, T* y, float* rstd) {
  const std::int64_t r = warp_row();
  if (r >= rows) return;
  float values[n], scale[n];
  float squares = 0;
  for_columns<n>(width, [&](std::int64_t c) {
    load(x + r * width + c, values);
#pragma unroll
    for (int i = 0; i < n; ++i) squares += values[i] * values[i];
  });
  const float factor = 1.0f / sqrtf(warp_sum(squares) / static_cast<float>(width) + epsilon);
  for_columns<n>(width, [&](std::int64_t c) {
    load(x + r * width + c, values);
    load(gamma + c, scale);
#pragma unroll
    for (int i = 0; i < n; ++i) values[i] *= factor * scale[i];
    store(y + r * width + c, values);
  });
  if (threadIdx.x % warp == 0) rstd[r] = factor;
}

template <int n, typename D, typename T>
__global__ void __launch_bounds__(block_threads)
    rms_norm_grad_kernel(const D* dy, const T* x, const float* gamma, const float* rstd, std::int64_t rows,
                         std::int64_t width, T* dx) {
  const std::int64_t r = warp_row();
  if (r >= rows) return;
  const RowStatistics s{0, rstd[r]};
  const RowSums sums{0, grad_row_sums<n>(dy + r * width, x + r * width, s, gamma, width).projected};
  write_row_gradient<n>(dy + r * width, x + r * width, gamma, s, sums, width, dx + r * width);
}

class RmsNormKernel final : public Kernel {
  using Op = RmsNorm;

 public:
  RmsNormKernel(const KernelContext& context, Device& device)
      : device_(device),
        x_(context.inputs[Op::x]),
        width_(context.inputs[Op::gamma].shape[0]),
        epsilon_(context.op_as<RmsNorm>().epsilon()) {}

  void run(const KernelArgs& args) override {
    const std::int64_t rows = x_.count() / width_;
    visit_row_pack(width_, x_.dtype, [&](auto n, auto zero) {
      using T = decltype(zero);
      launch(rms_norm_kernel<decltype(n)::value, T>, blocks_for(rows, block_rows), block_threads, device_,
             static_cast<const T*>(args.inputs[Op::x]), static_cast<const float*>(args.inputs[Op::gamma]), rows, width_,
             epsilon_, static_cast<T*>(args.outputs[0]), static_cast<float*>(args.outputs[1]));
    });
  }

 private:
  Device& device_;
  TensorDesc x_;
  std::int64_t width_;
  float epsilon_;
};

class RmsNormGradKernel final : public Kernel {
  using Op = RmsNormGrad;

 public:
  RmsNormGradKernel(const KernelContext& context, Device& device)
      : device_(device),
        dy_dtype_(context.inputs[Op::dy].dtype),
        x_(context.inputs[Op::x]),
        width_(context.inputs[Op::gamma].shape[0]),
        channels_(x_.count() / width_, width_) {}

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
    const std::int64_t rows = x_.count() / width_;
    const auto* gamma = static_cast<const float*>(args.inputs[Op::gamma]);
    const auto* rstd = static_cast<const float*>(args.inputs[Op::rstd]);
    channels_.run(device_, dy, x, nullptr, rstd, args.workspace, static_cast<float*>(args.outputs[1]), nullptr);
    visit_row_pack(width_, [&](auto n) {
      launch(rms_norm_grad_kernel<decltype(n)::value, D, T>, blocks_for(rows, block_rows), block_threads, device_, dy,
             x, gamma, rstd, rows, width_, static_cast<T*>(args.outputs[0]));
    });
  }

  Device& device_;
  DType dy_dtype_;
  TensorDesc x_;
  std::int64_t width_;
  ChannelGradients channels_;
};

}  // namespace

std::unique_ptr<Kernel> make_rms_norm(const KernelContext& context, Device& device) {
  return std::make_unique<RmsNormKernel>(context, device);
}
std::unique_ptr<Kernel> make_rms_norm_grad(const KernelContext& context, Device& device) {
  return std::make_unique<RmsNormGradKernel>(context, device);
}

}  // namespace ptrain::cuda

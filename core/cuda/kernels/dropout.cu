#include "core/ops/dropout.h"

#include "core/cuda/cuda_kernels.h"
#include "core/cuda/primitives/dispatch.h"
#include "core/cuda/primitives/dropout.cuh"
#include "core/cuda/primitives/launch.cuh"

namespace ptrain::cuda {
namespace {

/// y may be x.
template <typename T>
__global__ void __launch_bounds__(block_threads)
    dropout_kernel(std::int64_t count, DropoutAttributes attributes, const std::int64_t* rng, const T* x, T* y) {
  __shared__ MaskWords words[block_threads / group_threads];
  const DropoutMask mask = dropout_mask(attributes.p, rng, attributes.stream, count);
  const std::int64_t groups = count / static_cast<std::int64_t>(DropoutMask::group);
  // Threads of a half warp share p / group_threads, so they leave the loop together.
  for (std::int64_t p = grid_thread(); p < groups * group_threads; p += grid_threads()) {
    float values[pack], factors[pack];
    load(x + p * pack, values);
    group_factors(mask, static_cast<std::uint64_t>(p * pack), words[threadIdx.x / group_threads], factors);
#pragma unroll
    for (int i = 0; i < pack; ++i) values[i] *= factors[i];
    store(y + p * pack, values);
  }
  const std::int64_t rest = groups * static_cast<std::int64_t>(DropoutMask::group);
  for (std::int64_t i = rest + grid_thread(); i < count; i += grid_threads()) {
    y[i] = from_float<T>(to_float(x[i]) * mask.factor(static_cast<std::uint64_t>(i)));
  }
}

/// One draw per sample of `each` elements. y may be x.
template <typename T>
__global__ void __launch_bounds__(block_threads)
    sample_dropout_kernel(std::int64_t samples, std::int64_t each, DropoutAttributes attributes,
                          const std::int64_t* rng, const T* x, T* y) {
  const DropoutMask mask = dropout_mask(attributes.p, rng, attributes.stream, samples);
  for (std::int64_t i = grid_thread(); i < samples * each; i += grid_threads()) {
    y[i] = from_float<T>(to_float(x[i]) * mask.factor(static_cast<std::uint64_t>(i / each)));
  }
}

/// Forward and backward are the same product with the mask.
class DropoutKernel final : public Kernel {
 public:
  DropoutKernel(DropoutAttributes attributes, const KernelContext& context, Device& device)
      : device_(device), attributes_(attributes), x_(context.inputs[0]) {}

  void run(const KernelArgs& args) override {
    visit_floating(x_.dtype, [&](auto zero) {
      using T = decltype(zero);
      const auto* rng = static_cast<const std::int64_t*>(args.inputs[1]);
      const auto* x = static_cast<const T*>(args.inputs[0]);
      auto* y = static_cast<T*>(args.outputs[0]);
      if (attributes_.unit == DropoutUnit::sample) {
        const std::int64_t each = attributes_.elements_per_draw(x_.shape);
        launch(sample_dropout_kernel<T>, grid_blocks(device_, x_.count()), block_threads, device_, x_.count() / each,
               each, attributes_, rng, x, y);
      } else {
        launch(dropout_kernel<T>, grid_blocks(device_, x_.count() / pack + 1), block_threads, device_, x_.count(),
               attributes_, rng, x, y);
      }
    });
  }

 private:
  Device& device_;
  DropoutAttributes attributes_;
  TensorDesc x_;
};

}  // namespace

std::unique_ptr<Kernel> make_dropout(const KernelContext& context, Device& device) {
  return std::make_unique<DropoutKernel>(context.op_as<Dropout>().attrs(), context, device);
}
std::unique_ptr<Kernel> make_dropout_grad(const KernelContext& context, Device& device) {
  return std::make_unique<DropoutKernel>(context.op_as<DropoutGrad>().attrs(), context, device);
}

}  // namespace ptrain::cuda

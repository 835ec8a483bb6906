// Sum of squares over the flat gradients and an overflow flag in one pass; blocks write partial results, which one
// block adds in order.
#include "core/ops/training/grad_norm.h"

#include "core/cuda/cuda_kernels.h"
#include "core/cuda/primitives/launch.cuh"
#include "core/cuda/primitives/reduce.cuh"
#include "core/cuda/primitives/vector.cuh"
#include "core/ops/training/loss_scale_update.h"

#include <array>

namespace ptrain::cuda {
namespace {

struct Partial {
  double squares;
  int not_finite;
};

template <typename T>
__global__ void __launch_bounds__(block_threads) squares_kernel(const T* x, std::int64_t count, Partial* partials) {
  float squares = 0;
  int not_finite = 0;
  const auto add = [&](float value) {
    squares += value * value;
    not_finite |= isfinite(value) ? 0 : 1;
  };
  const std::int64_t packs = count / pack;
  for (std::int64_t p = grid_thread(); p < packs; p += grid_threads()) {
    float values[pack];
    load(x + p * pack, values);
#pragma unroll
    for (int i = 0; i < pack; ++i) add(values[i]);
  }
  for (std::int64_t i = packs * pack + grid_thread(); i < count; i += grid_threads()) add(to_float(x[i]));
  const double sum = block_sum(static_cast<double>(squares));
  const int flag = __syncthreads_or(not_finite);
  if (threadIdx.x == 0) partials[blockIdx.x] = {sum, flag};
}

__global__ void __launch_bounds__(block_threads)
    total_kernel(const Partial* partials, int count, const float* loss_scale, float* norm) {
  double squares = 0;
  int not_finite = 0;
  for (int i = static_cast<int>(threadIdx.x); i < count; i += block_threads) {
    squares += partials[i].squares;
    not_finite |= partials[i].not_finite;
  }
  const double sum = block_sum(squares);
  const int flag = __syncthreads_or(not_finite);
  if (threadIdx.x != 0) return;
  const double unscale = loss_scale == nullptr ? 1.0 : 1.0 / static_cast<double>(loss_scale[LossScaleState::scale]);
  norm[0] = static_cast<float>(sqrt(sum) * unscale);
  norm[1] = flag != 0 ? 1.0f : 0.0f;
}

__global__ void __launch_bounds__(1)
    norm_of_parts_kernel(const float* parts, std::int64_t values, const float* another, float* norm) {
  double squares = 0;
  float not_finite = 0;
  const auto add = [&](const float* part) {
    squares += static_cast<double>(part[0]) * static_cast<double>(part[0]);
    not_finite = fmaxf(not_finite, part[1]);
  };
  for (std::int64_t i = 0; i < values; i += 2) add(parts + i);
  if (another != nullptr) add(another);
  norm[0] = static_cast<float>(sqrt(squares));
  norm[1] = not_finite;
}

class GradNormKernel final : public Kernel {
 public:
  GradNormKernel(const KernelContext& context, Device& device)
      : device_(device), descs_{context.inputs[0], context.inputs[1]} {
    for (std::size_t i = 0; i < descs_.size(); ++i) {
      blocks_[i] = is_absent(descs_[i]) ? 0 : grid_blocks(device, descs_[i].count() / pack + 1);
    }
  }

  std::size_t workspace_bytes() const override {
    return static_cast<std::size_t>(blocks_[0] + blocks_[1]) * sizeof(Partial);
  }

  void run(const KernelArgs& args) override {
    auto* partials = static_cast<Partial*>(args.workspace);
    for (std::size_t i = 0; i < descs_.size(); ++i) {
      if (blocks_[i] == 0) continue;
      visit_floating(descs_[i].dtype, [&](auto zero) {
        launch(squares_kernel<decltype(zero)>, blocks_[i], block_threads, device_,
               static_cast<const decltype(zero)*>(args.inputs[i]), descs_[i].count(), partials + i * blocks_[0]);
      });
    }
    launch(total_kernel, 1, block_threads, device_, partials, blocks_[0] + blocks_[1],
           static_cast<const float*>(args.inputs[2]), static_cast<float*>(args.outputs[0]));
  }

 private:
  Device& device_;
  std::array<TensorDesc, 2> descs_;
  std::array<int, 2> blocks_{};
};

class NormOfPartsKernel final : public Kernel {
 public:
  NormOfPartsKernel(const KernelContext& context, Device& device)
      : device_(device), values_(context.inputs[NormOfParts::parts].count()) {}

  void run(const KernelArgs& args) override {
    launch(norm_of_parts_kernel, 1, 1, device_, static_cast<const float*>(args.inputs[NormOfParts::parts]), values_,
           static_cast<const float*>(args.inputs[NormOfParts::another]), static_cast<float*>(args.outputs[0]));
  }

 private:
  Device& device_;
  std::int64_t values_;
};

}  // namespace

std::unique_ptr<Kernel> make_norm_of_parts(const KernelContext& context, Device& device) {
  return std::make_unique<NormOfPartsKernel>(context, device);
}

std::unique_ptr<Kernel> make_grad_norm(const KernelContext& context, Device& device) {
  return std::make_unique<GradNormKernel>(context, device);
}

}  // namespace ptrain::cuda

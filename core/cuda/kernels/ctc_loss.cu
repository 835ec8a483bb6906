// A block per sample goes through the steps, a thread for each position of its label; what is apart by steps, the
// normalizers and the classes' gradients, is computed for all steps at once.
#include "core/ops/sequence/ctc_loss.h"

#include "core/cuda/cuda_kernels.h"
#include "core/cuda/primitives/launch.cuh"
#include "core/cuda/primitives/reduce.cuh"
#include "core/cuda/primitives/vector.cuh"
#include "core/ops/math/ctc.h"

#include <cmath>

namespace ptrain::cuda {
namespace {

constexpr int warp = 32;

/// log(sum(exp(logits))) of each step, by a warp.
template <typename T>
__global__ void __launch_bounds__(block_threads)
    normalize_kernel(CtcExtent extent, const T* all_logits, float* normalizers) {
  const std::int64_t row = grid_thread() / warp;
  if (row >= extent.samples * extent.steps) return;
  const T* logits = all_logits + row * extent.classes;
  const std::int64_t lane = threadIdx.x % warp;
  float largest = ctc_never();
  for (std::int64_t c = lane; c < extent.classes; c += warp) largest = fmaxf(largest, to_float(logits[c]));
  largest = warp_max(largest);
  float sum = 0;
  for (std::int64_t c = lane; c < extent.classes; c += warp) sum += fast_exp(to_float(logits[c]) - largest);
  sum = warp_sum(sum);
  if (lane == 0) normalizers[row] = largest + logf(sum);
}

template <typename T>
__global__ void __launch_bounds__(block_threads)
    forward_kernel(CtcExtent extent, const T* all_logits, const std::int32_t* labels, const float* all_normalizers,
                   float* all_alphas, float* losses) {
  const std::int64_t n = blockIdx.x, each = extent.most_positions();
  const CtcPositions positions = extent.positions(labels, n);
  if (!positions.are_learnt(extent.steps)) {
    if (threadIdx.x == 0) losses[n] = 0;
    return;
  }
  const T* logits = all_logits + n * extent.steps * extent.classes;
  const float* normalizers = all_normalizers + n * extent.steps;
  const float* before = nullptr;
  for (std::int64_t t = 0; t < extent.steps; ++t) {
    float* alpha = all_alphas + (n * extent.steps + t) * each;
    for (std::int64_t s = threadIdx.x; s < positions.count(); s += block_threads) {
      const float logit = to_float(logits[t * extent.classes + positions.symbol(s)]);
      alpha[s] = positions.come_to(s, before) + (logit - normalizers[t]);
    }
    __syncthreads();
    before = alpha;
  }
  if (threadIdx.x == 0) losses[n] = positions.negative_likelihood(before);
}

/// In thread 0 of one block: the samples that have a label; 1 if none has.
__device__ float count_labelled(const CtcExtent& extent, const std::int32_t* labels) {
  float count = 0;
  for (std::int64_t n = threadIdx.x; n < extent.samples; n += block_threads) {
    count += extent.positions(labels, n).length > 0 ? 1.0f : 0.0f;
  }
  return fmaxf(block_sum(count), 1.0f);
}

__global__ void __launch_bounds__(block_threads)
    mean_kernel(CtcExtent extent, const std::int32_t* labels, const float* losses, float* loss) {
  double sum = 0;
  for (std::int64_t n = threadIdx.x; n < extent.samples; n += block_threads) sum += static_cast<double>(losses[n]);
  const double total = block_sum(sum);
  const float count = count_labelled(extent, labels);
  if (threadIdx.x == 0) *loss = static_cast<float>(total) / count;
}

__global__ void __launch_bounds__(block_threads)
    scale_kernel(CtcExtent extent, const std::int32_t* labels, const float* dloss, float* scale) {
  const float count = count_labelled(extent, labels);
  if (threadIdx.x == 0) *scale = *dloss / count;
}

/// The probability of each position at each step, given the label: occupancies [N,T,positions].
template <typename T>
__global__ void __launch_bounds__(block_threads)
    backward_kernel(CtcExtent extent, const T* all_logits, const std::int32_t* labels, const float* losses,
                    const float* all_normalizers, const float* all_alphas, float* all_betas, float* all_occupancies) {
  const std::int64_t n = blockIdx.x, each = extent.most_positions();
  const CtcPositions positions = extent.positions(labels, n);
  if (!positions.are_learnt(extent.steps)) return;
  const T* logits = all_logits + n * extent.steps * extent.classes;
  const float* normalizers = all_normalizers + n * extent.steps;
  const float* alphas = all_alphas + n * extent.steps * each;
  float* occupancies = all_occupancies + n * extent.steps * each;
  const float* after = nullptr;
  for (std::int64_t t = extent.steps - 1; t >= 0; --t) {
    float* beta = all_betas + (2 * n + t % 2) * each;
    for (std::int64_t s = threadIdx.x; s < positions.count(); s += block_threads) {
      const float onward = positions.go_on(s, after);
      occupancies[t * each + s] = fast_exp(alphas[t * each + s] + onward + losses[n]);
      beta[s] = onward + (to_float(logits[t * extent.classes + positions.symbol(s)]) - normalizers[t]);
    }
    __syncthreads();
    after = beta;
  }
}

/// A block per step of each sample. The first position of a symbol takes the occupancies of the others, in order.
template <typename T>
__global__ void __launch_bounds__(block_threads)
    gradient_kernel(CtcExtent extent, const T* all_logits, const std::int32_t* labels, const float* normalizers,
                    const float* all_occupancies, const float* scale, T* all_gradients) {
  const std::int64_t row = blockIdx.x;
  const T* logits = all_logits + row * extent.classes;
  T* gradients = all_gradients + row * extent.classes;
  const CtcPositions positions = extent.positions(labels, row / extent.steps);
  const bool learnt = positions.are_learnt(extent.steps);
  const auto probability = [&](std::int64_t c) { return fast_exp(to_float(logits[c]) - normalizers[row]); };
  for (std::int64_t c = threadIdx.x; c < extent.classes; c += block_threads) {
    gradients[c] = from_float<T>(learnt ? *scale * probability(c) : 0.0f);
  }
  if (!learnt) return;
  __syncthreads();
  const float* occupancies = all_occupancies + row * extent.most_positions();
  for (std::int64_t s = threadIdx.x; s < positions.count(); s += block_threads) {
    if (!positions.is_first(s)) continue;
    const std::int32_t symbol = positions.symbol(s);
    float gradient = probability(symbol);
    for (std::int64_t i = s; i < positions.count(); ++i) {
      if (positions.symbol(i) == symbol) gradient -= occupancies[i];
    }
    gradients[symbol] = from_float<T>(*scale * gradient);
  }
}

template <typename Op>
CtcExtent get_extent(const KernelContext& context) {
  return {context.inputs[Op::logits].shape, context.inputs[Op::labels].shape, context.op_as<Op>().attrs().blank};
}

class CtcLossKernel final : public Kernel {
 public:
  CtcLossKernel(const KernelContext& context, Device& device)
      : device_(device), dtype_(context.inputs[CtcLoss::logits].dtype), extent_(get_extent<CtcLoss>(context)) {}

  void run(const KernelArgs& args) override {
    const auto* labels = static_cast<const std::int32_t*>(args.inputs[CtcLoss::labels]);
    auto* losses = static_cast<float*>(args.outputs[CtcLoss::sample_losses]);
    auto* normalizers = static_cast<float*>(args.outputs[CtcLoss::normalizers]);
    visit_floating(dtype_, [&](auto zero) {
      using T = decltype(zero);
      const auto* logits = static_cast<const T*>(args.inputs[CtcLoss::logits]);
      launch(normalize_kernel<T>, blocks_for(extent_.samples * extent_.steps * warp), block_threads, device_, extent_,
             logits, normalizers);
      launch(forward_kernel<T>, static_cast<unsigned>(extent_.samples), block_threads, device_, extent_, logits, labels,
             normalizers, static_cast<float*>(args.outputs[CtcLoss::alphas]), losses);
    });
    launch(mean_kernel, 1, block_threads, device_, extent_, labels, losses,
           static_cast<float*>(args.outputs[CtcLoss::loss]));
  }

 private:
  Device& device_;
  DType dtype_;
  CtcExtent extent_;
};

class CtcLossGradKernel final : public Kernel {
 public:
  CtcLossGradKernel(const KernelContext& context, Device& device)
      : device_(device), dtype_(context.inputs[CtcLossGrad::logits].dtype), extent_(get_extent<CtcLossGrad>(context)) {}

  /// The occupancies, the backward variables of two steps, and the gradient's factor.
  std::size_t workspace_bytes() const override {
    return static_cast<std::size_t>(occupancy_count() + beta_count() + 1) * sizeof(float);
  }

  void run(const KernelArgs& args) override {
    const auto input = [&](CtcLossGrad::Input index) { return static_cast<const float*>(args.inputs[index]); };
    const auto* labels = static_cast<const std::int32_t*>(args.inputs[CtcLossGrad::labels]);
    auto* occupancies = static_cast<float*>(args.workspace);
    float* betas = occupancies + occupancy_count();
    float* scale = betas + beta_count();
    const float* normalizers = input(CtcLossGrad::normalizers);
    launch(scale_kernel, 1, block_threads, device_, extent_, labels, input(CtcLossGrad::dloss), scale);
    visit_floating(dtype_, [&](auto zero) {
      using T = decltype(zero);
      const auto* logits = static_cast<const T*>(args.inputs[CtcLossGrad::logits]);
      launch(backward_kernel<T>, static_cast<unsigned>(extent_.samples), block_threads, device_, extent_, logits,
             labels, input(CtcLossGrad::sample_losses), normalizers, input(CtcLossGrad::alphas), betas, occupancies);
      launch(gradient_kernel<T>, static_cast<unsigned>(extent_.samples * extent_.steps), block_threads, device_,
             extent_, logits, labels, normalizers, occupancies, scale, static_cast<T*>(args.outputs[0]));
    });
  }

 private:
  std::int64_t occupancy_count() const { return extent_.samples * extent_.steps * extent_.most_positions(); }
  std::int64_t beta_count() const { return extent_.samples * 2 * extent_.most_positions(); }

  Device& device_;
  DType dtype_;
  CtcExtent extent_;
};

}  // namespace

std::unique_ptr<Kernel> make_ctc_loss(const KernelContext& context, Device& device) {
  return std::make_unique<CtcLossKernel>(context, device);
}
std::unique_ptr<Kernel> make_ctc_loss_grad(const KernelContext& context, Device& device) {
  return std::make_unique<CtcLossGradKernel>(context, device);
}

}  // namespace ptrain::cuda

// Blocks sum up fixed parts of the logits; one block adds their sums, in order.
#include "core/ops/detection/sigmoid_focal_loss.h"

#include "core/cuda/cuda_kernels.h"
#include "core/cuda/primitives/launch.cuh"
#include "core/cuda/primitives/reduce.cuh"
#include "core/cuda/primitives/vector.cuh"
#include "core/ops/math/focal_loss.h"

namespace ptrain::cuda {
namespace {

struct Rows {
  const std::int32_t* labels;
  const float* weights;  // null: all 1
  const float* scores;   // null: no row has one
  std::int64_t classes, elements;
  float alpha;

  __device__ float weight(std::int64_t r) const { return weights == nullptr ? 1.0f : weights[r]; }
  /// The loss of a row's own class, and its gradient.
  __device__ float own_loss(std::int64_t r, float z) const {
    return scores == nullptr ? alpha * focal_loss(-z) : scored_loss(z, scores[r]);
  }
  __device__ float own_gradient(std::int64_t r, float z) const {
    return scores == nullptr ? -alpha * focal_loss_gradient(-z) : scored_loss_gradient(z, scores[r]);
  }
};

constexpr int parts = 1024;

template <typename T>
__global__ void __launch_bounds__(block_threads) focal_loss_kernel(const T* logits, Rows rows, double* sums) {
  double sum = 0;
  for (std::int64_t i = grid_thread(); i < rows.elements; i += grid_threads()) {
    const std::int64_t r = i / rows.classes;
    const float weight = rows.weight(r);
    if (weight == 0) continue;
    const float z = to_float(logits[i]);
    const bool own = rows.labels[r] == i - r * rows.classes;
    const float loss = own ? rows.own_loss(r, z) : (1 - rows.alpha) * focal_loss(z);
    sum += static_cast<double>(weight * loss);
  }
  const double total = block_sum(sum);
  if (threadIdx.x == 0) sums[blockIdx.x] = total;
}

__global__ void __launch_bounds__(block_threads) add_parts_kernel(const double* sums, float* loss) {
  double sum = 0;
  for (int i = threadIdx.x; i < parts; i += block_threads) sum += sums[i];
  const double total = block_sum(sum);
  if (threadIdx.x == 0) *loss = static_cast<float>(total);
}

/// `gradients` may be the logits.
template <typename T>
__global__ void __launch_bounds__(block_threads)
    focal_loss_grad_kernel(const T* logits, Rows rows, const float* dloss, T* gradients) {
  for (std::int64_t i = grid_thread(); i < rows.elements; i += grid_threads()) {
    const std::int64_t r = i / rows.classes;
    const float scale = *dloss * rows.weight(r), z = to_float(logits[i]);
    const bool own = rows.labels[r] == i - r * rows.classes;
    const float gradient = own ? rows.own_gradient(r, z) : (1 - rows.alpha) * focal_loss_gradient(z);
    gradients[i] = from_float<T>(scale == 0 ? 0.0f : scale * gradient);
  }
}

Rows make_rows(const KernelArgs& args, const TensorDesc& logits, float alpha) {
  const auto find_floats = [&](std::size_t input) {
    return args.inputs.size() > input ? static_cast<const float*>(args.inputs[input]) : nullptr;
  };
  return {static_cast<const std::int32_t*>(args.inputs[SigmoidFocalLoss::labels]),
          find_floats(SigmoidFocalLoss::weights),
          find_floats(SigmoidFocalLoss::scores),
          logits.shape[-1],
          logits.count(),
          alpha};
}

class SigmoidFocalLossKernel final : public Kernel {
 public:
  SigmoidFocalLossKernel(const KernelContext& context, Device& device)
      : device_(device),
        logits_(context.inputs[SigmoidFocalLoss::logits]),
        alpha_(context.op_as<SigmoidFocalLoss>().attrs().alpha) {}

  std::size_t workspace_bytes() const override { return parts * sizeof(double); }

  void run(const KernelArgs& args) override {
    auto* sums = static_cast<double*>(args.workspace);
    visit_floating(logits_.dtype, [&](auto zero) {
      using T = decltype(zero);
      launch(focal_loss_kernel<T>, parts, block_threads, device_,
             static_cast<const T*>(args.inputs[SigmoidFocalLoss::logits]), make_rows(args, logits_, alpha_), sums);
    });
    launch(add_parts_kernel, 1, block_threads, device_, sums, static_cast<float*>(args.outputs[0]));
  }

 private:
  Device& device_;
  TensorDesc logits_;
  float alpha_;
};

class SigmoidFocalLossGradKernel final : public Kernel {
 public:
  SigmoidFocalLossGradKernel(const KernelContext& context, Device& device)
      : device_(device),
        logits_(context.inputs[SigmoidFocalLossGrad::logits]),
        alpha_(context.op_as<SigmoidFocalLossGrad>().attrs().alpha) {}

  void run(const KernelArgs& args) override {
    visit_floating(logits_.dtype, [&](auto zero) {
      using T = decltype(zero);
      launch(focal_loss_grad_kernel<T>, grid_blocks(device_, logits_.count()), block_threads, device_,
             static_cast<const T*>(args.inputs[SigmoidFocalLossGrad::logits]), make_rows(args, logits_, alpha_),
             static_cast<const float*>(args.inputs[SigmoidFocalLossGrad::dloss]), static_cast<T*>(args.outputs[0]));
    });
  }

 private:
  Device& device_;
  TensorDesc logits_;
  float alpha_;
};

}  // namespace

std::unique_ptr<Kernel> make_sigmoid_focal_loss(const KernelContext& context, Device& device) {
  return std::make_unique<SigmoidFocalLossKernel>(context, device);
}
std::unique_ptr<Kernel> make_sigmoid_focal_loss_grad(const KernelContext& context, Device& device) {
  return std::make_unique<SigmoidFocalLossGradKernel>(context, device);
}

}  // namespace ptrain::cuda

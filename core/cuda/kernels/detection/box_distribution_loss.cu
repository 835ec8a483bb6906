// A thread per box. Blocks sum up fixed parts of the boxes; one block adds their sums, in order.
#include "core/ops/detection/box_distribution_loss.h"

#include "core/cuda/cuda_kernels.h"
#include "core/cuda/primitives/launch.cuh"
#include "core/cuda/primitives/reduce.cuh"
#include "core/cuda/primitives/vector.cuh"
#include "core/ops/math/box_distribution.h"

namespace ptrain::cuda {
namespace {

constexpr int parts = 256;

/// The boxes of a batch.
template <typename T>
struct Boxes {
  const T* bins;
  const float* targets;
  const float* weights;
  std::int64_t boxes, count;

  __device__ std::int64_t first_bin(std::int64_t box, int side) const { return (box * box_sides + side) * count; }
  __device__ float load(std::int64_t box, int side, std::int64_t k) const {
    return to_float(bins[first_bin(box, side) + k]);
  }
  __device__ SideDistribution describe(std::int64_t box, int side) const {
    return describe_side(count, [&](std::int64_t k) { return load(box, side, k); });
  }
  __device__ float target(std::int64_t box, int side) const { return targets[box * box_sides + side]; }
  __device__ SideDistances wanted(std::int64_t box) const {
    return {target(box, 0), target(box, 1), target(box, 2), target(box, 3)};
  }
};

__device__ SideDistances read_means(const SideDistribution (&sides)[box_sides]) {
  return {sides[0].mean, sides[1].mean, sides[2].mean, sides[3].mean};
}

template <typename T>
__global__ void __launch_bounds__(block_threads) sum_kernel(Boxes<T> all, double* sums) {
  double overlap = 0, distribution = 0;
  for (std::int64_t i = grid_thread(); i < all.boxes; i += grid_threads()) {
    const float weight = all.weights[i];
    if (weight == 0) continue;
    SideDistribution sides[box_sides];
    float entropies = 0;
    for (int side = 0; side < box_sides; ++side) {
      sides[side] = all.describe(i, side);
      entropies += side_cross_entropy(sides[side], SplitDistance(all.target(i, side), all.count),
                                      [&](std::int64_t k) { return all.load(i, side, k); });
    }
    overlap += static_cast<double>(weight * overlap_loss(read_means(sides), all.wanted(i)).value);
    distribution += static_cast<double>(weight * (entropies / box_sides));
  }
  const double overlap_total = block_sum(overlap), distribution_total = block_sum(distribution);
  if (threadIdx.x != 0) return;
  sums[blockIdx.x] = overlap_total;
  sums[parts + blockIdx.x] = distribution_total;
}

__global__ void __launch_bounds__(block_threads)
    add_parts_kernel(const double* sums, float* overlap, float* distribution) {
  double first = 0, second = 0;
  for (int i = threadIdx.x; i < parts; i += block_threads) {
    first += sums[i];
    second += sums[parts + i];
  }
  const double first_total = block_sum(first), second_total = block_sum(second);
  if (threadIdx.x != 0) return;
  *overlap = static_cast<float>(first_total);
  *distribution = static_cast<float>(second_total);
}

template <typename T>
__global__ void __launch_bounds__(block_threads)
    grad_kernel(Boxes<T> all, const float* doverlap, const float* ddistribution, T* gradients) {
  for (std::int64_t i = grid_thread(); i < all.boxes; i += grid_threads()) {
    const float weight = all.weights[i];
    SideDistribution sides[box_sides]{};
    SideDistances slopes;
    if (weight != 0) {
      for (int side = 0; side < box_sides; ++side) sides[side] = all.describe(i, side);
      slopes = overlap_loss(read_means(sides), all.wanted(i)).gradient;
    }
    const float by_mean[box_sides]{slopes.left, slopes.top, slopes.right, slopes.bottom};
    const float by_overlap = doverlap == nullptr ? 0.0f : weight * *doverlap;
    const float by_entropy = ddistribution == nullptr ? 0.0f : weight * *ddistribution / box_sides;
    for (int side = 0; side < box_sides; ++side) {
      const SplitDistance wanted(all.target(i, side), all.count);
      for (std::int64_t k = 0; k < all.count; ++k) {
        float gradient = 0;
        if (weight != 0) {
          const float p = sides[side].probability(all.load(i, side, k));
          gradient = by_overlap * by_mean[side] * p * (static_cast<float>(k) - sides[side].mean) +
                     by_entropy * (p - wanted.share(k));
        }
        gradients[all.first_bin(i, side) + k] = from_float<T>(gradient);
      }
    }
  }
}

/// Inputs have the same numbers in the loss and its gradient.
template <typename T>
Boxes<T> read_boxes(const KernelArgs& args, const TensorDesc& bins) {
  return {static_cast<const T*>(args.inputs[BoxDistributionLoss::bins]),
          static_cast<const float*>(args.inputs[BoxDistributionLoss::targets]),
          static_cast<const float*>(args.inputs[BoxDistributionLoss::weights]), bins.shape[0] * bins.shape[1],
          bins.shape[2] / box_sides};
}

class BoxDistributionLossKernel final : public Kernel {
 public:
  BoxDistributionLossKernel(const KernelContext& context, Device& device)
      : device_(device), bins_(context.inputs[BoxDistributionLoss::bins]) {}

  std::size_t workspace_bytes() const override { return 2 * parts * sizeof(double); }

  void run(const KernelArgs& args) override {
    auto* sums = static_cast<double*>(args.workspace);
    visit_floating(bins_.dtype, [&](auto zero) {
      using T = decltype(zero);
      launch(sum_kernel<T>, parts, block_threads, device_, read_boxes<T>(args, bins_), sums);
    });
    launch(add_parts_kernel, 1, block_threads, device_, sums,
           static_cast<float*>(args.outputs[BoxDistributionLoss::overlap]),
           static_cast<float*>(args.outputs[BoxDistributionLoss::distribution]));
  }

 private:
  Device& device_;
  TensorDesc bins_;
};

class BoxDistributionLossGradKernel final : public Kernel {
 public:
  BoxDistributionLossGradKernel(const KernelContext& context, Device& device)
      : device_(device), bins_(context.inputs[BoxDistributionLossGrad::bins]) {}

  void run(const KernelArgs& args) override {
    const auto find = [&](std::size_t input) {
      return args.inputs.size() > input ? static_cast<const float*>(args.inputs[input]) : nullptr;
    };
    visit_floating(bins_.dtype, [&](auto zero) {
      using T = decltype(zero);
      launch(grad_kernel<T>, grid_blocks(device_, bins_.shape[0] * bins_.shape[1]), block_threads, device_,
             read_boxes<T>(args, bins_), find(BoxDistributionLossGrad::doverlap),
             find(BoxDistributionLossGrad::ddistribution), static_cast<T*>(args.outputs[0]));
    });
  }

 private:
  Device& device_;
  TensorDesc bins_;
};

}  // namespace

std::unique_ptr<Kernel> make_box_distribution_loss(const KernelContext& context, Device& device) {
  return std::make_unique<BoxDistributionLossKernel>(context, device);
}
std::unique_ptr<Kernel> make_box_distribution_loss_grad(const KernelContext& context, Device& device) {
  return std::make_unique<BoxDistributionLossGradKernel>(context, device);
}

}  // namespace ptrain::cuda

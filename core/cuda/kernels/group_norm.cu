// Group normalisation: one block per image and group finds statistics and mean gradients, which every pixel then reads;
// the gradients of gamma and beta are sums over images of what one warp per image and channel adds up.
#include "core/ops/normalization/group_norm.h"

#include "core/cuda/cuda_kernels.h"
#include "core/cuda/primitives/launch.cuh"
#include "core/cuda/primitives/reduce.cuh"
#include "core/cuda/primitives/vector.cuh"

namespace ptrain::cuda {
namespace {

constexpr int sum_threads = 32;  // a warp

/// Images [images,pixels,groups,width].
struct GroupNormExtent {
  std::int64_t images, pixels, groups, width;

  GroupNormExtent(const Shape& x, std::int64_t group_count)
      : images(x[0]), pixels(x.count() / (x[0] * x[-1])), groups(group_count), width(x[-1] / group_count) {}

  __host__ __device__ std::int64_t channels() const { return groups * width; }
  __host__ __device__ std::int64_t count() const { return images * pixels * channels(); }
  __device__ std::int64_t channel(std::int64_t element) const { return element % channels(); }
  /// The index of an element's image and group.
  __device__ std::int64_t group(std::int64_t element) const {
    return element / (pixels * channels()) * groups + channel(element) / width;
  }
};

/// The sum over a group's elements of what `term` gives, in every thread of its block.
template <typename Term>
__device__ inline float sum_group(const GroupNormExtent& e, std::int64_t group, const Term& term) {
  const std::int64_t first = group / e.groups * e.pixels * e.channels() + group % e.groups * e.width;
  float sum = 0;
  for (std::int64_t i = threadIdx.x; i < e.pixels * e.width; i += block_threads) {
    sum += term(first + i / e.width * e.channels() + i % e.width);
  }
  __shared__ float shared;
  const float total = block_sum(sum);
  if (threadIdx.x == 0) shared = total;
  __syncthreads();
  const float result = shared;
  __syncthreads();  // before the next call writes it
  return result;
}

template <typename T>
__global__ void __launch_bounds__(block_threads)
    group_statistics_kernel(GroupNormExtent e, const T* x, float epsilon, float* mean, float* rstd) {
  const std::int64_t group = blockIdx.x;
  const auto count = static_cast<float>(e.pixels * e.width);
  const float centre = sum_group(e, group, [&](std::int64_t i) { return to_float(x[i]); }) / count;
  const float squares = sum_group(e, group, [&](std::int64_t i) {
    const float d = to_float(x[i]) - centre;
    return d * d;
  });
  if (threadIdx.x != 0) return;
  mean[group] = centre;
  rstd[group] = 1.0f / sqrtf(squares / count + epsilon);
}

template <typename T>
__global__ void __launch_bounds__(block_threads)
    normalise_groups_kernel(GroupNormExtent e, const T* x, const float* gamma, const float* beta, const float* mean,
                            const float* rstd, T* y) {
  for (std::int64_t i = grid_thread(); i < e.count(); i += grid_threads()) {
    const std::int64_t c = e.channel(i), group = e.group(i);
    y[i] = from_float<T>((to_float(x[i]) - mean[group]) * rstd[group] * gamma[c] + beta[c]);
  }
}

/// Sums of dy and of dy xhat over the pixels of each image and channel; one warp each.
template <typename D, typename T>
__global__ void __launch_bounds__(block_threads)
    image_channel_sums_kernel(GroupNormExtent e, const D* dy, const T* x, const float* mean, const float* rstd,
                              float* gradients, float* projections) {
  const std::int64_t item = grid_thread() / sum_threads, channels = e.channels();
  if (item >= e.images * channels) return;
  const std::int64_t c = item % channels, image = item / channels, group = image * e.groups + c / e.width;
  float gradient = 0, projection = 0;
  for (std::int64_t p = threadIdx.x % sum_threads; p < e.pixels; p += sum_threads) {
    const std::int64_t i = (image * e.pixels + p) * channels + c;
    const float d = to_float(dy[i]);
    gradient += d;
    projection += d * ((to_float(x[i]) - mean[group]) * rstd[group]);
  }
  gradient = warp_sum(gradient);
  projection = warp_sum(projection);
  if (threadIdx.x % sum_threads != 0) return;
  gradients[item] = gradient;
  projections[item] = projection;
}

/// The sums over images: gradients of gamma and beta.
__global__ void __launch_bounds__(block_threads)
    add_images_kernel(GroupNormExtent e, const float* gradients, const float* projections, float* dgamma,
                      float* dbeta) {
  const std::int64_t c = grid_thread();
  if (c >= e.channels()) return;
  float gamma_total = 0, beta_total = 0;
  for (std::int64_t image = 0; image < e.images; ++image) {
    gamma_total += projections[image * e.channels() + c];
    beta_total += gradients[image * e.channels() + c];
  }
  dgamma[c] = gamma_total;
  dbeta[c] = beta_total;
}

/// Means of dy gamma and of dy gamma xhat over each group; one thread each.
__global__ void __launch_bounds__(block_threads)
    group_means_kernel(GroupNormExtent e, const float* gamma, const float* gradients, const float* projections,
                       float* mean_gradients, float* mean_projections) {
  const std::int64_t group = grid_thread();
  if (group >= e.images * e.groups) return;
  float gradient = 0, projection = 0;
  for (std::int64_t i = group * e.width; i < (group + 1) * e.width; ++i) {
    gradient += gradients[i] * gamma[i % e.channels()];
    projection += projections[i] * gamma[i % e.channels()];
  }
  const auto count = static_cast<float>(e.pixels * e.width);
  mean_gradients[group] = gradient / count;
  mean_projections[group] = projection / count;
}

template <typename D, typename T>
__global__ void __launch_bounds__(block_threads)
    group_norm_grad_kernel(GroupNormExtent e, const D* dy, const T* x, const float* gamma, const float* mean,
                           const float* rstd, const float* mean_gradients, const float* mean_projections, T* dx) {
  for (std::int64_t i = grid_thread(); i < e.count(); i += grid_threads()) {
    const std::int64_t group = e.group(i);
    const float normal = (to_float(x[i]) - mean[group]) * rstd[group];
    const float d = to_float(dy[i]) * gamma[e.channel(i)];
    dx[i] = from_float<T>(rstd[group] * (d - mean_gradients[group] - normal * mean_projections[group]));
  }
}

class GroupNormKernel final : public Kernel {
  using Op = GroupNorm;

 public:
  GroupNormKernel(const KernelContext& context, Device& device)
      : device_(device),
        dtype_(context.inputs[Op::x].dtype),
        attributes_(context.op_as<GroupNorm>().attrs()),
        extent_(context.inputs[Op::x].shape, attributes_.groups) {}

  void run(const KernelArgs& args) override {
    auto* mean = static_cast<float*>(args.outputs[Op::mean]);
    auto* rstd = static_cast<float*>(args.outputs[Op::rstd]);
    visit_floating(dtype_, [&](auto zero) {
      using T = decltype(zero);
      const auto* x = static_cast<const T*>(args.inputs[Op::x]);
      launch(group_statistics_kernel<T>, static_cast<unsigned>(extent_.images * extent_.groups), block_threads, device_,
             extent_, x, attributes_.epsilon, mean, rstd);
      launch(normalise_groups_kernel<T>, grid_blocks(device_, extent_.count()), block_threads, device_, extent_, x,
             static_cast<const float*>(args.inputs[Op::gamma]), static_cast<const float*>(args.inputs[Op::beta]), mean,
             rstd, static_cast<T*>(args.outputs[Op::y]));
    });
  }

 private:
  Device& device_;
  DType dtype_;
  GroupNormAttributes attributes_;
  GroupNormExtent extent_;
};

class GroupNormGradKernel final : public Kernel {
  using Op = GroupNormGrad;

 public:
  GroupNormGradKernel(const KernelContext& context, Device& device)
      : device_(device),
        dy_dtype_(context.inputs[Op::dy].dtype),
        dtype_(context.inputs[Op::x].dtype),
        extent_(context.inputs[Op::x].shape, context.inputs[Op::mean].shape[1]) {}

  /// Two sums per image and channel, and two per image and group.
  std::size_t workspace_bytes() const override {
    return static_cast<std::size_t>(2 * extent_.images * (extent_.channels() + extent_.groups)) * sizeof(float);
  }

  void run(const KernelArgs& args) override {
    visit_floating2(dy_dtype_, dtype_, [&](auto dy_zero, auto zero) {
      run_as(static_cast<const decltype(dy_zero)*>(args.inputs[Op::dy]),
             static_cast<const decltype(zero)*>(args.inputs[Op::x]), static_cast<decltype(zero)*>(args.outputs[Op::dx]),
             args);
    });
  }

 private:
  template <typename D, typename T>
  void run_as(const D* dy, const T* x, T* dx, const KernelArgs& args) {
    const auto* gamma = static_cast<const float*>(args.inputs[Op::gamma]);
    const auto* mean = static_cast<const float*>(args.inputs[Op::mean]);
    const auto* rstd = static_cast<const float*>(args.inputs[Op::rstd]);
    const std::int64_t by_channel = extent_.images * extent_.channels(), by_group = extent_.images * extent_.groups;
    auto* gradients = static_cast<float*>(args.workspace);
    float* projections = gradients + by_channel;
    float* mean_gradients = projections + by_channel;
    float* mean_projections = mean_gradients + by_group;
    launch(image_channel_sums_kernel<D, T>, blocks_for(by_channel * sum_threads), block_threads, device_, extent_, dy,
           x, mean, rstd, gradients, projections);
    launch(add_images_kernel, blocks_for(extent_.channels()), block_threads, device_, extent_, gradients, projections,
           static_cast<float*>(args.outputs[Op::dgamma]), static_cast<float*>(args.outputs[Op::dbeta]));
    launch(group_means_kernel, blocks_for(by_group), block_threads, device_, extent_, gamma, gradients, projections,
           mean_gradients, mean_projections);
    launch(group_norm_grad_kernel<D, T>, grid_blocks(device_, extent_.count()), block_threads, device_, extent_, dy, x,
           gamma, mean, rstd, mean_gradients, mean_projections, dx);
  }

  Device& device_;
  DType dy_dtype_, dtype_;
  GroupNormExtent extent_;
};

}  // namespace

std::unique_ptr<Kernel> make_group_norm(const KernelContext& context, Device& device) {
  return std::make_unique<GroupNormKernel>(context, device);
}
std::unique_ptr<Kernel> make_group_norm_grad(const KernelContext& context, Device& device) {
  return std::make_unique<GroupNormGradKernel>(context, device);
}

}  // namespace ptrain::cuda

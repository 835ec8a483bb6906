#include "core/cuda/kernels/batch_norm/native_batch_norm.h"
#include "core/cuda/primitives/launch.cuh"

#include "core/cuda/primitives/channel_sums.cuh"
#include "core/cuda/primitives/gate_mask.cuh"
#include "core/ops/math/activation_math.h"
#include "core/ops/math/batch_norm_math.h"

namespace ptrain::cuda {
namespace {

template <typename T>
struct FinishStatistics {
  const T* x;
  const float* gamma;
  double count;
  double epsilon;
  float *mean, *invstd, *scale;

  __device__ void operator()(std::int64_t c, double first, double second) const {
    const Statistics statistics = make_statistics(to_float(x[c]), first, second, count, epsilon);
    mean[c] = statistics.mean;
    invstd[c] = statistics.invstd;
    scale[c] = gamma[c] * invstd[c];
  }
};

__global__ void __launch_bounds__(block_threads)
    running_scale_kernel(const float* gamma, const float* variance, float epsilon, std::int64_t channels,
                         float* scale) {
  const std::int64_t c = grid_thread();
  if (c < channels) scale[c] = gamma[c] / sqrtf(variance[c] + epsilon);
}

__global__ void __launch_bounds__(block_threads)
    update_running_kernel(const float* mean, const float* invstd, double epsilon, double momentum, double count,
                          std::int64_t channels, float* running_mean, float* running_var) {
  const std::int64_t c = grid_thread();
  if (c >= channels) return;
  const double r = static_cast<double>(invstd[c]);
  const double unbiased = fmax(0.0, 1.0 / (r * r) - epsilon) * count / (count - 1);
  running_mean[c] = running_average(running_mean[c], static_cast<double>(mean[c]), momentum);
  running_var[c] = running_average(running_var[c], unbiased, momentum);
}

/// y may be the residual or x: each element is read before it is written, by the same thread.
template <int n, typename T, Activation activation>
__global__ void __launch_bounds__(block_threads)
    native_apply_kernel(ChannelExtent e, const T* x, const float* mean, const float* scale, const float* beta,
                        const T* residual, T* y, std::uint8_t* mask) {
  const Place place(e, n);
  if (place.channel >= e.channels) return;
  float m[n], s[n], b[n];
  load(mean + place.channel, m);
  load(scale + place.channel, s);
  load(beta + place.channel, b);
  for (std::int64_t r = place.row; r < e.rows; r += place.step) {
    const std::int64_t at = r * e.channels + place.channel;
    float values[n], added[n] = {};
    load(x + at, values);
    if (residual != nullptr) load(residual + at, added);
#pragma unroll
    for (int i = 0; i < n; ++i) {
      values[i] = activate<activation>((values[i] - m[i]) * s[i] + b[i] + added[i]);
    }
    store(y + at, values);
    store_mask<activation>(mask, at, values);
  }
}

/// Per-channel values of a thread's channels for the gradient's two passes.
template <int n>
struct GradState {
  float mean[n], scale[n], beta[n];

  __device__ GradState(const float* all_means, const float* gamma, const float* invstd, const float* all_betas) {
    float g[n], r[n];
    load(all_means, mean);
    load(gamma, g);
    load(invstd, r);
    load(all_betas, beta);
#pragma unroll
    for (int i = 0; i < n; ++i) scale[i] = g[i] * r[i];
  }
  /// Deviations, and the gradient before an activation that is recomputed from x.
  template <Activation activation, typename T>
  __device__ void read(const T* x, const T* dy, float (&d)[n], float (&g)[n]) const {
    load(x, d);
    load(dy, g);
#pragma unroll
    for (int i = 0; i < n; ++i) {
      d[i] -= mean[i];
      g[i] = activation_gradient<activation>(g[i], d[i] * scale[i] + beta[i]);
    }
  }
};

/// Sums of the gradient before the activation and of its product with the deviation. dresidual may be dy.
template <int n, typename T, Activation activation, bool residual>
struct GradTerm {
  NativeBatchNorm::Backward t;

  __device__ GradState<n> at(std::int64_t c) const { return {t.mean + c, t.gamma + c, t.invstd + c, t.beta + c}; }
  __device__ void add(const GradState<n>& state, std::int64_t at, float (&first)[n], float (&second)[n]) const {
    float d[n], g[n];
    state.template read<activation>(static_cast<const T*>(t.x) + at, static_cast<const T*>(t.dy) + at, d, g);
    if constexpr (residual) {
      float more[n] = {};
      const unsigned open = t.mask[at / n];
      if (t.dy_more != nullptr) load(static_cast<const T*>(t.dy_more) + at, more);
#pragma unroll
      for (int i = 0; i < n; ++i) g[i] = (open >> i & 1) != 0 ? g[i] + more[i] : 0.0f;
      store(static_cast<T*>(t.dresidual) + at, g);
    }
#pragma unroll
    for (int i = 0; i < n; ++i) {
      first[i] += g[i];
      second[i] += g[i] * d[i];
    }
  }
};

struct FinishGrad {
  NativeBatchNorm::Backward t;
  double count;
  float *slope, *offset;

  __device__ void operator()(std::int64_t c, double sum_g, double sum_gd) const {
    const double r = static_cast<double>(t.invstd[c]);
    const double s = static_cast<double>(t.gamma[c] * t.invstd[c]);
    t.dgamma[c] = static_cast<float>(sum_gd * r);
    t.dbeta[c] = static_cast<float>(sum_g);
    slope[c] = static_cast<float>(-s * r * r * sum_gd / count);
    offset[c] = static_cast<float>(-s * sum_g / count);
  }
};

/// dx = scale g + slope (x - mean) + offset; dx may be x or dy.
template <int n, typename T, Activation activation, bool residual>
__global__ void __launch_bounds__(block_threads)
    grad_kernel(ChannelExtent e, NativeBatchNorm::Backward t, const float* slope, const float* offset) {
  const Place place(e, n);
  if (place.channel >= e.channels) return;
  const std::int64_t c = place.channel;
  const GradState<n> state(t.mean + c, t.gamma + c, t.invstd + c, t.beta + c);
  float k1[n], k0[n];
  load(slope + c, k1);
  load(offset + c, k0);
  const auto* gradient = static_cast<const T*>(residual ? t.dresidual : t.dy);
  for (std::int64_t r = place.row; r < e.rows; r += place.step) {
    const std::int64_t at = r * e.channels + c;
    float d[n], g[n];
    state.template read<activation>(static_cast<const T*>(t.x) + at, gradient + at, d, g);
#pragma unroll
    for (int i = 0; i < n; ++i) g[i] = g[i] * state.scale[i] + (d[i] * k1[i] + k0[i]);
    store(static_cast<T*>(t.dx) + at, g);
  }
}

}  // namespace

NativeBatchNorm::NativeBatchNorm(const Device& device, DType dtype, std::int64_t rows, std::int64_t channels)
    : device_(device), dtype_(dtype), extent_(channel_extent(device, rows, channels)) {
  const std::size_t channel_bytes = static_cast<std::size_t>(channels) * sizeof(float);
  partial_ = layout_.take(extent_.partial_bytes());
  scale_ = layout_.take(channel_bytes);
  slope_ = layout_.take(channel_bytes);
  offset_ = layout_.take(channel_bytes);
}

template <int n, typename T>
void NativeBatchNorm::train_as(const Forward& t, void* workspace) const {
  const auto* x = static_cast<const T*>(t.x);
  auto* scale = scale_.as<float>(workspace);
  launch_channel_sums<n>(device_, extent_, StatisticsTerm<n, T>{x}, partial_.as<ChannelSums>(workspace),
                         FinishStatistics<T>{x, t.gamma, static_cast<double>(extent_.rows),
                                             static_cast<double>(t.epsilon), t.mean, t.invstd, scale});
  apply_as<n, T>(t, t.mean, scale);
}

template <int n, typename T>
void NativeBatchNorm::apply_as(const Forward& t, const float* mean, const float* scale) const {
  visit_norm_activation(t.activation, [&](auto kind) {
    launch(native_apply_kernel<n, T, decltype(kind)::value>, extent_.grid(n), block_threads, device_, extent_,
           static_cast<const T*>(t.x), mean, scale, t.beta, static_cast<const T*>(t.residual), static_cast<T*>(t.y),
           t.mask);
  });
}

void NativeBatchNorm::train(const Forward& tensors, void* workspace) const {
  visit_row_pack(extent_.channels, dtype_,
                 [&](auto n, auto zero) { train_as<decltype(n)::value, decltype(zero)>(tensors, workspace); });
}

void NativeBatchNorm::infer(const Forward& tensors, const float* mean, const float* variance, void* workspace) const {
  auto* scale = scale_.as<float>(workspace);
  launch(running_scale_kernel, blocks_for(extent_.channels), block_threads, device_, tensors.gamma, variance,
         tensors.epsilon, extent_.channels, scale);
  visit_row_pack(extent_.channels, dtype_,
                 [&](auto n, auto zero) { apply_as<decltype(n)::value, decltype(zero)>(tensors, mean, scale); });
}

void NativeBatchNorm::update_running(const float* mean, const float* invstd, float epsilon, float momentum,
                                     float* running_mean, float* running_var) const {
  launch(update_running_kernel, blocks_for(extent_.channels), block_threads, device_, mean, invstd,
         static_cast<double>(epsilon), static_cast<double>(momentum), static_cast<double>(extent_.rows),
         extent_.channels, running_mean, running_var);
}

template <int n, typename T, Activation activation, bool residual>
void NativeBatchNorm::backward_as(const Backward& t, void* workspace) const {
  auto* slope = slope_.as<float>(workspace);
  auto* offset = offset_.as<float>(workspace);
  launch_channel_sums<n>(device_, extent_, GradTerm<n, T, activation, residual>{t}, partial_.as<ChannelSums>(workspace),
                         FinishGrad{t, static_cast<double>(extent_.rows), slope, offset});
  launch(grad_kernel<n, T, activation, residual>, extent_.grid(n), block_threads, device_, extent_, t, slope, offset);
}

void NativeBatchNorm::backward(const Backward& tensors, Activation activation, void* workspace) const {
  visit_row_pack(extent_.channels, dtype_, [&](auto n, auto zero) {
    using T = decltype(zero);
    constexpr int packed = decltype(n)::value;
    if constexpr (packed == pack) {  // the mask, in whole bytes, has the activation
      if (tensors.dresidual != nullptr) return backward_as<packed, T, Activation::none, true>(tensors, workspace);
    }
    visit_norm_activation(activation,
                          [&](auto kind) { backward_as<packed, T, decltype(kind)::value, false>(tensors, workspace); });
  });
}

}  // namespace ptrain::cuda

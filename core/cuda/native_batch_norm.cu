#include "core/cuda/native_batch_norm.h"

#include "core/cuda/check.h"
#include "core/cuda/dispatch.h"
#include "core/cuda/reduce.cuh"
#include "core/cuda/vector.cuh"

namespace ptrain::cuda {
namespace {

/// The two sums of a channel.
using Sums = float2;

/// How a block lies on [rows,channels]: `across` threads side by side, n channels each, the others on further rows.
struct Extent {
  std::int64_t rows, channels;
  int across;

  /// The rows in `parts`.
  dim3 grid(int n, std::int64_t parts) const {
    return dim3(static_cast<unsigned>((channels + across * n - 1) / (across * n)), static_cast<unsigned>(parts));
  }
};

/// A thread's first channel and the rows it visits; it keeps what belongs to its channels in registers.
struct Place {
  std::int64_t channel, row, step;

  __device__ Place(const Extent& e, int n) {
    const int down = block_threads / e.across;
    channel = (static_cast<std::int64_t>(blockIdx.x) * e.across + threadIdx.x % e.across) * n;
    row = static_cast<std::int64_t>(blockIdx.y) * down + threadIdx.x / e.across;
    step = static_cast<std::int64_t>(gridDim.y) * down;
  }
};

/// partial[part][channel] = sums over the part's rows of what `term` adds for (row, channel).
template <int n, typename Term>
__global__ void __launch_bounds__(block_threads) sums_kernel(Extent e, Term term, Sums* partial) {
  const Place place(e, n);
  float first[n] = {}, second[n] = {};
  if (place.channel < e.channels) {
    auto state = term.at(place.channel);
    for (std::int64_t r = place.row; r < e.rows; r += place.step) {
      term.add(state, r * e.channels + place.channel, first, second);
    }
  }
  __shared__ Sums tile[block_threads * n];
#pragma unroll
  for (int i = 0; i < n; ++i) tile[threadIdx.x * n + i] = {first[i], second[i]};
  __syncthreads();
  if (threadIdx.x >= static_cast<unsigned>(e.across) || place.channel >= e.channels) return;
  for (int t = static_cast<int>(threadIdx.x) + e.across; t < block_threads; t += e.across) {
#pragma unroll
    for (int i = 0; i < n; ++i) {
      first[i] += tile[t * n + i].x;
      second[i] += tile[t * n + i].y;
    }
  }
#pragma unroll
  for (int i = 0; i < n; ++i) partial[blockIdx.y * e.channels + place.channel + i] = {first[i], second[i]};
}

/// Hands each channel's two sums, joined in double in an order that is always the same, to `finish`; a warp a channel.
template <typename Finish>
__global__ void __launch_bounds__(block_threads)
    finish_kernel(const Sums* partial, std::int64_t parts, std::int64_t channels, Finish finish) {
  const std::int64_t c = grid_thread() / 32;
  if (c >= channels) return;
  double first = 0, second = 0;
  for (std::int64_t p = threadIdx.x % 32; p < parts; p += 32) {
    first += static_cast<double>(partial[p * channels + c].x);
    second += static_cast<double>(partial[p * channels + c].y);
  }
  first = warp_sum(first);
  second = warp_sum(second);
  if (threadIdx.x % 32 == 0) finish(c, first, second);
}

/// Sums of the deviations from the first row, so that a large mean costs no precision.
template <int n, typename T>
struct StatisticsTerm {
  const T* x;

  struct State {
    float origin[n];
  };
  __device__ State at(std::int64_t channel) const {
    State state;
    load(x + channel, state.origin);
    return state;
  }
  __device__ void add(const State& state, std::int64_t at, float (&first)[n], float (&second)[n]) const {
    float values[n];
    load(x + at, values);
#pragma unroll
    for (int i = 0; i < n; ++i) {
      const float d = values[i] - state.origin[i];
      first[i] += d;
      second[i] += d * d;
    }
  }
};

template <typename T>
struct FinishStatistics {
  const T* x;
  const float* gamma;
  double count;
  double epsilon;
  float *mean, *invstd, *scale;

  __device__ void operator()(std::int64_t c, double first, double second) const {
    const double shift = first / count;
    const double variance = fmax(0.0, second / count - shift * shift);
    mean[c] = static_cast<float>(static_cast<double>(to_float(x[c])) + shift);
    invstd[c] = static_cast<float>(1.0 / sqrt(variance + epsilon));
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
  const auto mix = [momentum](float old, double now) {
    return static_cast<float>((1 - momentum) * static_cast<double>(old) + momentum * now);
  };
  running_mean[c] = mix(running_mean[c], static_cast<double>(mean[c]));
  running_var[c] = mix(running_var[c], unbiased);
}

/// y may be the residual or x: each element is read before it is written, by the same thread.
template <int n, typename T>
__global__ void __launch_bounds__(block_threads)
    apply_kernel(Extent e, const T* x, const float* mean, const float* scale, const float* beta, const T* residual,
                 bool relu, T* y) {
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
      values[i] = (values[i] - m[i]) * s[i] + b[i] + added[i];
      if (relu && values[i] < 0) values[i] = 0;  // keeps NaN
    }
    store(y + at, values);
  }
}

/// What the gradient's two passes know of a thread's channels.
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
  /// Deviations and the gradient under the mask that x gives.
  template <bool masked, typename T>
  __device__ void read(const T* x, const T* dy, float (&d)[n], float (&g)[n]) const {
    load(x, d);
    load(dy, g);
#pragma unroll
    for (int i = 0; i < n; ++i) {
      d[i] -= mean[i];
      if (masked && !(d[i] * scale[i] + beta[i] > 0)) g[i] = 0;
    }
  }
};

/// Sums of the masked gradient and of its product with the deviation. dresidual may be dy.
template <int n, typename T, ReluMask mask>
struct GradTerm {
  NativeBatchNorm::Backward t;

  __device__ GradState<n> at(std::int64_t c) const { return {t.mean + c, t.gamma + c, t.invstd + c, t.beta + c}; }
  __device__ void add(const GradState<n>& state, std::int64_t at, float (&first)[n], float (&second)[n]) const {
    float d[n], g[n];
    state.template read<mask == ReluMask::from_x>(static_cast<const T*>(t.x) + at, static_cast<const T*>(t.dy) + at, d,
                                                  g);
    if constexpr (mask == ReluMask::from_y) {
      float y[n];
      load(static_cast<const T*>(t.y) + at, y);
#pragma unroll
      for (int i = 0; i < n; ++i) g[i] = y[i] > 0 ? g[i] : 0.0f;
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
template <int n, typename T, ReluMask mask>
__global__ void __launch_bounds__(block_threads)
    grad_kernel(Extent e, NativeBatchNorm::Backward t, const float* slope, const float* offset) {
  const Place place(e, n);
  if (place.channel >= e.channels) return;
  const std::int64_t c = place.channel;
  const GradState<n> state(t.mean + c, t.gamma + c, t.invstd + c, t.beta + c);
  float k1[n], k0[n];
  load(slope + c, k1);
  load(offset + c, k0);
  const auto* gradient = static_cast<const T*>(mask == ReluMask::from_y ? t.dresidual : t.dy);
  for (std::int64_t r = place.row; r < e.rows; r += place.step) {
    const std::int64_t at = r * e.channels + c;
    float d[n], g[n];
    state.template read<mask == ReluMask::from_x>(static_cast<const T*>(t.x) + at, gradient + at, d, g);
#pragma unroll
    for (int i = 0; i < n; ++i) g[i] = g[i] * state.scale[i] + (d[i] * k1[i] + k0[i]);
    store(static_cast<T*>(t.dx) + at, g);
  }
}

int item_blocks(std::int64_t channels) { return static_cast<int>((channels + block_threads - 1) / block_threads); }

}  // namespace

NativeBatchNorm::NativeBatchNorm(const Device& device, DType dtype, std::int64_t rows, std::int64_t channels)
    : device_(device), dtype_(dtype), rows_(rows), channels_(channels), across_(1) {
  const int packed = row_pack(channels);
  while (across_ < 32 && across_ * packed < channels) across_ *= 2;
  const std::int64_t columns = (channels + across_ * packed - 1) / (across_ * packed);
  const std::int64_t down = block_threads / across_;
  const std::int64_t wanted = std::max<std::int64_t>(1, 4 * device.multiprocessors() / columns);
  parts_ = std::clamp<std::int64_t>(rows / (4 * down), 1, wanted);
  const std::size_t channel_bytes = static_cast<std::size_t>(channels) * sizeof(float);
  partial_ = layout_.take(static_cast<std::size_t>(parts_ * channels) * sizeof(Sums));
  scale_ = layout_.take(channel_bytes);
  slope_ = layout_.take(channel_bytes);
  offset_ = layout_.take(channel_bytes);
}

template <int n, typename T>
void NativeBatchNorm::train_as(const Forward& t, void* workspace) const {
  const auto* x = static_cast<const T*>(t.x);
  auto* partial = partial_.as<Sums>(workspace);
  auto* scale = scale_.as<float>(workspace);
  const Extent extent{rows_, channels_, across_};
  sums_kernel<n>
      <<<extent.grid(n, parts_), block_threads, 0, device_.stream()>>>(extent, StatisticsTerm<n, T>{x}, partial);
  finish_kernel<<<item_blocks(32 * channels_), block_threads, 0, device_.stream()>>>(
      partial, parts_, channels_,
      FinishStatistics<T>{x, t.gamma, static_cast<double>(rows_), static_cast<double>(t.epsilon), t.mean, t.invstd,
                          scale});
  CUDA_CHECK(cudaGetLastError());
  apply_as<n, T>(t, t.mean, scale);
}

template <int n, typename T>
void NativeBatchNorm::apply_as(const Forward& t, const float* mean, const float* scale) const {
  const Extent extent{rows_, channels_, across_};
  apply_kernel<n><<<extent.grid(n, parts_), block_threads, 0, device_.stream()>>>(
      extent, static_cast<const T*>(t.x), mean, scale, t.beta, static_cast<const T*>(t.residual), t.relu,
      static_cast<T*>(t.y));
  CUDA_CHECK(cudaGetLastError());
}

void NativeBatchNorm::train(const Forward& tensors, void* workspace) const {
  visit_row_pack(channels_, [&](auto n) {
    visit_floating(dtype_, [&](auto zero) { train_as<decltype(n)::value, decltype(zero)>(tensors, workspace); });
  });
}

void NativeBatchNorm::infer(const Forward& tensors, const float* mean, const float* variance, void* workspace) const {
  auto* scale = scale_.as<float>(workspace);
  running_scale_kernel<<<item_blocks(channels_), block_threads, 0, device_.stream()>>>(
      tensors.gamma, variance, tensors.epsilon, channels_, scale);
  visit_row_pack(channels_, [&](auto n) {
    visit_floating(dtype_, [&](auto zero) { apply_as<decltype(n)::value, decltype(zero)>(tensors, mean, scale); });
  });
}

void NativeBatchNorm::update_running(const float* mean, const float* invstd, float epsilon, float momentum,
                                     float* running_mean, float* running_var) const {
  update_running_kernel<<<item_blocks(channels_), block_threads, 0, device_.stream()>>>(
      mean, invstd, static_cast<double>(epsilon), static_cast<double>(momentum), static_cast<double>(rows_), channels_,
      running_mean, running_var);
  CUDA_CHECK(cudaGetLastError());
}

template <int n, typename T, ReluMask mask>
void NativeBatchNorm::backward_as(const Backward& t, void* workspace) const {
  auto* partial = partial_.as<Sums>(workspace);
  auto* slope = slope_.as<float>(workspace);
  auto* offset = offset_.as<float>(workspace);
  const Extent extent{rows_, channels_, across_};
  sums_kernel<n>
      <<<extent.grid(n, parts_), block_threads, 0, device_.stream()>>>(extent, GradTerm<n, T, mask>{t}, partial);
  finish_kernel<<<item_blocks(32 * channels_), block_threads, 0, device_.stream()>>>(
      partial, parts_, channels_, FinishGrad{t, static_cast<double>(rows_), slope, offset});
  grad_kernel<n, T, mask><<<extent.grid(n, parts_), block_threads, 0, device_.stream()>>>(extent, t, slope, offset);
  CUDA_CHECK(cudaGetLastError());
}

void NativeBatchNorm::backward(const Backward& tensors, ReluMask mask, void* workspace) const {
  visit_row_pack(channels_, [&](auto n) {
    visit_floating(dtype_, [&](auto zero) {
      constexpr int packed = decltype(n)::value;
      using T = decltype(zero);
      if (mask == ReluMask::from_y) return backward_as<packed, T, ReluMask::from_y>(tensors, workspace);
      if (mask == ReluMask::from_x) return backward_as<packed, T, ReluMask::from_x>(tensors, workspace);
      backward_as<packed, T, ReluMask::none>(tensors, workspace);
    });
  });
}

}  // namespace ptrain::cuda

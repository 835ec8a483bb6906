// The passes over the data around a convolution that cuDNN has no fused plan for.
#include "core/cuda/device/check.h"
#include "core/cuda/kernels/conv2d_batch_norm/conv_batch_norm.h"
#include "core/cuda/primitives/channel_sums.cuh"

namespace ptrain::cuda {
namespace {

template <int n, typename T>
struct ResultTerm {
  const T* y;

  struct State {};
  __device__ State at(std::int64_t) const { return {}; }
  __device__ void add(State, std::int64_t at, float (&first)[n], float (&second)[n]) const {
    float values[n];
    load(y + at, values);
#pragma unroll
    for (int i = 0; i < n; ++i) {
      first[i] += values[i];
      second[i] += values[i] * values[i];
    }
  }
};

struct FinishResult {
  float *sum, *sum_of_squares;

  __device__ void operator()(std::int64_t c, double first, double second) const {
    sum[c] = static_cast<float>(first);
    sum_of_squares[c] = static_cast<float>(second);
  }
};

/// dz where the norm's output is positive, and its sums: plain, and times x - mean.
template <int n, typename T>
struct MaskTerm {
  MaskedGradient t;

  struct State {
    float mean[n], scale[n], beta[n];
  };
  __device__ State at(std::int64_t c) const {
    State state;
    float gamma[n], invstd[n];
    load(t.mean + c, state.mean);
    load(t.beta + c, state.beta);
    load(t.gamma + c, gamma);
    load(t.invstd + c, invstd);
#pragma unroll
    for (int i = 0; i < n; ++i) state.scale[i] = gamma[i] * invstd[i];
    return state;
  }
  __device__ void add(const State& state, std::int64_t at, float (&first)[n], float (&second)[n]) const {
    float d[n], g[n];
    load(static_cast<const T*>(t.x) + at, d);
    load(static_cast<const T*>(t.dz) + at, g);
#pragma unroll
    for (int i = 0; i < n; ++i) {
      d[i] -= state.mean[i];
      if (!(d[i] * state.scale[i] + state.beta[i] > 0)) g[i] = 0;
      first[i] += g[i];
      second[i] += g[i] * d[i];
    }
    store(static_cast<T*>(t.dz) + at, g);
  }
};

struct FinishMask {
  MaskedGradient t;

  __device__ void operator()(std::int64_t c, double sum, double sum_of_products) const {
    t.dgamma[c] = static_cast<float>(sum_of_products * static_cast<double>(t.invstd[c]));
    t.dbeta[c] = static_cast<float>(sum);
  }
};

}  // namespace

void sum_results(const Device& device, const ChannelExtent& rows, DType dtype, const void* y, ChannelSums* partial,
                 float* sum, float* sum_of_squares) {
  visit_row_pack(rows.channels, dtype, [&](auto n, auto zero) {
    constexpr int packed = decltype(n)::value;
    using T = decltype(zero);
    launch_channel_sums<packed>(device, rows, ResultTerm<packed, T>{static_cast<const T*>(y)}, partial,
                                FinishResult{sum, sum_of_squares});
  });
  CUDA_CHECK(cudaGetLastError());
}

void mask_and_sum(const Device& device, const ChannelExtent& rows, DType dtype, const MaskedGradient& gradient,
                  ChannelSums* partial) {
  visit_row_pack(rows.channels, dtype, [&](auto n, auto zero) {
    constexpr int packed = decltype(n)::value;
    launch_channel_sums<packed>(device, rows, MaskTerm<packed, decltype(zero)>{gradient}, partial,
                                FinishMask{gradient});
  });
  CUDA_CHECK(cudaGetLastError());
}

}  // namespace ptrain::cuda

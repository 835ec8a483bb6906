// Two sums of every channel of [rows,channels] data, in a fixed order: the basis of batch norm's statistics and
// gradients.
#pragma once

#include "core/cuda/primitives/channel_extent.h"
#include "core/cuda/primitives/launch.cuh"
#include "core/cuda/primitives/reduce.cuh"
#include "core/cuda/primitives/vector.cuh"
#include "core/ops/math/batch_norm_math.h"

namespace ptrain::cuda {

/// A thread's first channel and its rows; per-channel values stay in registers.
struct Place {
  std::int64_t channel, row, step;

  __device__ Place(const ChannelExtent& e, int n) {
    const int down = block_threads / e.across;
    channel = (static_cast<std::int64_t>(blockIdx.x) * e.across + threadIdx.x % e.across) * n;
    row = static_cast<std::int64_t>(blockIdx.y) * down + threadIdx.x / e.across;
    step = static_cast<std::int64_t>(gridDim.y) * down;
  }
};

/// partial[part][channel] = sums over the part's rows of what `term` adds for (row, channel). All of a block's threads
/// call it.
template <int n, typename Term>
__device__ inline void sum_channels(const ChannelExtent& e, const Term& term, ChannelSums* partial) {
  const Place place(e, n);
  float first[n] = {}, second[n] = {};
  if (place.channel < e.channels) {
    auto state = term.at(place.channel);
    // Stores nothing in between, so that the loads of four rows overlap.
#pragma unroll 4
    for (std::int64_t r = place.row; r < e.rows; r += place.step) {
      term.add(state, r * e.channels + place.channel, first, second);
    }
  }
  __shared__ ChannelSums tile[block_threads * n];
#pragma unroll
  for (int i = 0; i < n; ++i) tile[threadIdx.x * n + i] = {first[i], second[i]};
  __syncthreads();
  if (threadIdx.x >= static_cast<unsigned>(e.across) || place.channel >= e.channels) return;
  for (int t = static_cast<int>(threadIdx.x) + e.across; t < block_threads; t += e.across) {
#pragma unroll
    for (int i = 0; i < n; ++i) {
      first[i] += tile[t * n + i].first;
      second[i] += tile[t * n + i].second;
    }
  }
#pragma unroll
  for (int i = 0; i < n; ++i) partial[blockIdx.y * e.channels + place.channel + i] = {first[i], second[i]};
}

/// Passes each channel's two sums, combined in double, to `finish`, once; one warp per channel.
template <typename Finish>
__device__ inline void finish_channels(const ChannelSums* partial, std::int64_t parts, std::int64_t channels,
                                       const Finish& finish) {
  const std::int64_t c = grid_thread() / 32;
  if (c >= channels) return;
  double first = 0, second = 0;
  for (std::int64_t p = threadIdx.x % 32; p < parts; p += 32) {
    first += static_cast<double>(partial[p * channels + c].first);
    second += static_cast<double>(partial[p * channels + c].second);
  }
  first = warp_sum(first);
  second = warp_sum(second);
  if (threadIdx.x % 32 == 0) finish(c, first, second);
}

template <int n, typename Term>
__global__ void __launch_bounds__(block_threads) channel_sums_kernel(ChannelExtent e, Term term, ChannelSums* partial) {
  sum_channels<n>(e, term, partial);
}

template <typename Finish>
__global__ void __launch_bounds__(block_threads)
    finish_channels_kernel(const ChannelSums* partial, std::int64_t parts, std::int64_t channels, Finish finish) {
  finish_channels(partial, parts, channels, finish);
}

/// Enqueues both kernels: finish(channel, first sum, second sum).
template <int n, typename Term, typename Finish>
void launch_channel_sums(const Device& device, const ChannelExtent& e, Term term, ChannelSums* partial, Finish finish) {
  launch(channel_sums_kernel<n, Term>, e.grid(n), block_threads, device, e, term, partial);
  launch(finish_channels_kernel<Finish>, blocks_for(32 * e.channels), block_threads, device, partial, e.parts,
         e.channels, finish);
}

/// Sums of the deviations from the first row and of their squares, so that a large mean costs no precision.
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

struct Statistics {
  float mean, invstd;
};

/// Statistics from StatisticsTerm's two sums of `count` values; `origin` is the first.
__device__ inline Statistics make_statistics(float origin, double first, double second, double count, double epsilon) {
  const BatchStatistics deviations = batch_statistics(first, second, count);
  return {static_cast<float>(static_cast<double>(origin) + deviations.mean),
          static_cast<float>(1.0 / sqrt(deviations.variance + epsilon))};
}

}  // namespace ptrain::cuda

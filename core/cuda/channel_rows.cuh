// Kernels over rows of channels: sums over the rows, in an order that is always the same.
#pragma once

#include "core/cuda/channel_rows.h"
#include "core/cuda/reduce.cuh"
#include "core/cuda/vector.cuh"

namespace ptrain::cuda {

/// A thread's first channel and the rows it visits.
struct ChannelPlace {
  std::int64_t channel, row, step;

  __device__ ChannelPlace(const ChannelRows& e, int n) {
    const int down = block_threads / e.across;
    channel = (static_cast<std::int64_t>(blockIdx.x) * e.across + threadIdx.x % e.across) * n;
    row = static_cast<std::int64_t>(blockIdx.y) * down + threadIdx.x / e.across;
    step = static_cast<std::int64_t>(gridDim.y) * down;
  }
};

/// partial[part][channel] = sums over the part's rows of what `term` adds for (row, channel).
template <int n, typename Term>
__global__ void __launch_bounds__(block_threads) channel_sums_kernel(ChannelRows e, Term term, ChannelSums* partial) {
  const ChannelPlace place(e, n);
  float first[n] = {}, second[n] = {};
  if (place.channel < e.channels) {
    auto state = term.at(place.channel);
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

/// Hands each channel's two sums, joined in double, to `finish`; a warp a channel.
template <typename Finish>
__global__ void __launch_bounds__(block_threads)
    finish_channels_kernel(const ChannelSums* partial, std::int64_t parts, std::int64_t channels, Finish finish) {
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

/// Both, one after the other: finish(channel, sum of the first, sum of the second).
template <int n, typename Term, typename Finish>
void sum_channels(const Device& device, const ChannelRows& e, Term term, ChannelSums* partial, Finish finish) {
  channel_sums_kernel<n><<<e.grid(n), block_threads, 0, device.stream()>>>(e, term, partial);
  const auto blocks = static_cast<unsigned>((32 * e.channels + block_threads - 1) / block_threads);
  finish_channels_kernel<<<blocks, block_threads, 0, device.stream()>>>(partial, e.parts, e.channels, finish);
}

}  // namespace ptrain::cuda

#include "core/cuda/kernels/batch_norm/batch_norm_guard.h"
#include "core/cuda/primitives/launch.cuh"

#include "core/cuda/device/check.h"
#include "core/cuda/primitives/channel_sums.cuh"
#include "core/ops/math/statistics_drift.h"

namespace ptrain::cuda {
namespace {

using State = BatchNormGuard::State;

template <int n, typename T>
__global__ void __launch_bounds__(block_threads)
    guard_sums_kernel(ChannelExtent e, const T* x, const State* state, unsigned long long every, ChannelSums* partial) {
  if (state->runs % every == 0) sum_channels<n>(e, StatisticsTerm<n, T>{x}, partial);
}

template <typename T>
struct CompareStatistics {
  const T* x;
  const float *mean, *invstd;
  double count, epsilon;
  State* state;

  __device__ void operator()(std::int64_t c, double first, double second) const {
    const Statistics plain = make_statistics(to_float(x[c]), first, second, count, epsilon);
    const float drift = statistics_drift(mean[c], invstd[c], plain.mean, plain.invstd);
    atomicMax(reinterpret_cast<unsigned*>(&state->worst), __float_as_uint(drift));
  }
};

/// Compares the statistics if this run is due; the last block to finish counts the run, when no other block reads the
/// count any more.
template <typename T>
__global__ void __launch_bounds__(block_threads)
    guard_finish_kernel(ChannelExtent e, CompareStatistics<T> compare, unsigned long long every,
                        const ChannelSums* partial) {
  State* state = compare.state;
  const bool due = state->runs % every == 0;
  if (due) finish_channels(partial, e.parts, e.channels, compare);
  __syncthreads();
  if (threadIdx.x != 0 || atomicAdd(&state->finished_blocks, 1u) + 1 != gridDim.x) return;
  state->finished_blocks = 0;
  state->compared += due;
  ++state->runs;
}

constexpr State nothing_yet[1] = {};

}  // namespace

BatchNormGuard::BatchNormGuard(const Device& device, DType dtype, std::int64_t rows, std::int64_t channels,
                               float epsilon, std::int64_t every)
    : device_(device),
      dtype_(dtype),
      extent_(channel_extent(device, rows, channels)),
      epsilon_(epsilon),
      every_(static_cast<unsigned long long>(every)),
      state_(nothing_yet) {
  partial_ = layout_.take(extent_.partial_bytes());
}

void BatchNormGuard::run(const void* x, const float* mean, const float* invstd, void* workspace) const {
  auto* partial = partial_.as<ChannelSums>(workspace);
  visit_floating(dtype_, [&](auto zero) {
    using T = decltype(zero);
    const auto* data = static_cast<const T*>(x);
    visit_row_pack(extent_.channels, [&](auto n) {
      launch(guard_sums_kernel<decltype(n)::value, T>, extent_.grid(n), block_threads, device_, extent_, data,
             state_.data(), every_, partial);
    });
    launch(guard_finish_kernel<T>, blocks_for(32 * extent_.channels), block_threads, device_, extent_,
           CompareStatistics<T>{data, mean, invstd, static_cast<double>(extent_.rows), static_cast<double>(epsilon_),
                                state_.data()},
           every_, partial);
  });
}

GuardFinding BatchNormGuard::finding() const {
  State state;
  CUDA_CHECK(cudaMemcpyAsync(&state, state_.data(), sizeof state, cudaMemcpyDeviceToHost, device_.stream()));
  CUDA_CHECK(cudaStreamSynchronize(device_.stream()));
  return {static_cast<std::int64_t>(state.compared), static_cast<double>(state.worst)};
}

}  // namespace ptrain::cuda

// A warp reads a chunk of the cache for one query head; another kernel joins the chunks.
#include "core/ops/text/cached_attention.h"

#include "core/cuda/cuda_kernels.h"
#include "core/cuda/primitives/launch.cuh"
#include "core/cuda/primitives/reduce.cuh"
#include "core/cuda/primitives/vector.cuh"
#include "core/ops/math/exp.h"
#include "core/ops/math/sequences.h"

#include <cmath>

namespace ptrain::cuda {
namespace {

using Input = AppendCache::Input;

constexpr int warp = 32;
constexpr int block_warps = 4;

/// A thread per channel of a sequence's past keys.
template <typename C>
__global__ void __launch_bounds__(block_threads)
    copy_past_kernel(CacheDims e, SequencePlaces places, const std::int32_t* slots, const std::int32_t* sources,
                     C* keys, C* values) {
  const std::int64_t each = e.kv_heads * e.capacity * e.depth;
  for (std::int64_t i = grid_thread(); i < e.batch * each; i += grid_threads()) {
    const std::int64_t b = i / each, head = i % each / (e.capacity * e.depth), at = i % (e.capacity * e.depth);
    if (sources[b] == slots[b] || at >= places.past[b] * e.depth) continue;
    const std::int64_t from = e.offset(sources[b], head, 0) + at, to = e.offset(slots[b], head, 0) + at;
    keys[to] = keys[from];
    values[to] = values[from];
  }
}

/// A thread per channel of a token's query, key and value. `out` may be qkv.
template <typename T, typename C>
__global__ void __launch_bounds__(block_threads)
    append_cache_kernel(CacheDims e, SequencePlaces places, const std::int32_t* slots, const T* qkv, C* keys, C* values,
                        T* out) {
  for (std::int64_t i = grid_thread(); i < e.tokens * e.width; i += grid_threads()) {
    const std::int64_t token = i / e.width, channel = i % e.width - e.first_key();
    if (out != qkv) out[i] = qkv[i];
    const std::int64_t b = places.find(token);
    if (b < 0 || channel < 0) continue;
    const std::int64_t head = channel / e.depth % e.kv_heads;
    const std::int64_t at = e.offset(slots[b], head, places.position(token, b)) + channel % e.depth;
    (channel < e.kv_heads * e.depth ? keys : values)[at] = from_float<C>(to_float(qkv[i]));
  }
}

/// Of a query head and a chunk: the sum of weighted values, then the largest score and the sum of weights.
struct Partials {
  float* floats;

  __device__ float* find(const CacheDims& e, std::int64_t row, std::int64_t chunk) const {
    return floats + (row * e.chunks() + chunk) * (e.depth + 2);
  }
};

/// A warp per token, query head and chunk, of which blockIdx.y is the number.
template <typename T, typename C>
__global__ void __launch_bounds__(block_warps* warp)
    read_chunk_kernel(CacheDims e, SequencePlaces places, float scale, const std::int32_t* slots, const T* qkv,
                      const C* keys, const C* values, Partials partials) {
  __shared__ float weights[block_warps][cache_chunk];
  const std::int64_t row = static_cast<std::int64_t>(blockIdx.x) * block_warps + threadIdx.x / warp;
  const std::int64_t token = row / e.heads, head = row % e.heads, first = blockIdx.y * cache_chunk;
  if (token >= places.end()) return;
  const std::int64_t b = places.find(token), left = places.position(token, b) + 1 - first;
  if (left <= 0) return;
  const int lane = static_cast<int>(threadIdx.x % warp),
            seen = static_cast<int>(left < cache_chunk ? left : cache_chunk);
  const std::int64_t at = e.offset(slots[b], head / e.group(), first);
  const T* const query = qkv + token * e.width + head * e.depth;
  float* const own = weights[threadIdx.x / warp];
  float largest = -INFINITY;
  for (int k = lane; k < seen; k += warp) {
    float score = 0;
    for (std::int64_t d = 0; d < e.depth; ++d) score += to_float(query[d]) * to_float(keys[at + k * e.depth + d]);
    own[k] = score;
    largest = fmaxf(largest, score);
  }
  largest = warp_max(largest);
  float total = 0;
  for (int k = lane; k < seen; k += warp) {
    own[k] = fast_exp(scale * (own[k] - largest));
    total += own[k];
  }
  total = warp_sum(total);
  __syncwarp();
  float* const to = partials.find(e, row, blockIdx.y);
  for (std::int64_t d = lane; d < e.depth; d += warp) {
    float sum = 0;
    for (int k = 0; k < seen; ++k) sum += own[k] * to_float(values[at + k * e.depth + d]);
    to[d] = sum;
  }
  if (lane == 0) {
    to[e.depth] = largest;
    to[e.depth + 1] = total;
  }
}

/// A thread per channel of the output.
template <typename T>
__global__ void __launch_bounds__(block_threads)
    join_chunks_kernel(CacheDims e, SequencePlaces places, float scale, Partials partials, T* out) {
  for (std::int64_t i = grid_thread(); i < e.tokens * e.out_width(); i += grid_threads()) {
    const std::int64_t row = i / e.depth, token = row / e.heads, b = places.find(token);
    if (b < 0) {
      out[i] = from_float<T>(0.0f);
      continue;
    }
    const std::int64_t chunks = places.position(token, b) / cache_chunk + 1;
    float largest = -INFINITY, total = 0, sum = 0;
    for (std::int64_t c = 0; c < chunks; ++c) largest = fmaxf(largest, partials.find(e, row, c)[e.depth]);
    for (std::int64_t c = 0; c < chunks; ++c) {
      const float* const partial = partials.find(e, row, c);
      const float factor = fast_exp(scale * (partial[e.depth] - largest));
      total += factor * partial[e.depth + 1];
      sum += factor * partial[i % e.depth];
    }
    out[i] = from_float<T>(sum / total);
  }
}

class AppendCacheKernel final : public Kernel {
 public:
  AppendCacheKernel(const KernelContext& context, Device& device)
      : device_(device),
        e_(context.op_as<AppendCache>().attrs(), context.inputs),
        dtype_(context.inputs[Input::qkv].dtype),
        cache_dtype_(context.inputs[Input::keys].dtype) {}

  void run(const KernelArgs& args) override {
    const SequencePlaces places = sequence_places(e_.batch, 0, args.inputs, Input::offsets);
    visit_floating2(dtype_, cache_dtype_, [&](auto zero, auto cache_zero) {
      using T = decltype(zero);
      using C = decltype(cache_zero);
      if (args.inputs.size() > Input::sources) {
        launch(copy_past_kernel<C>, grid_blocks(device_, e_.batch * e_.kv_heads * e_.capacity * e_.depth),
               block_threads, device_, e_, places, static_cast<const std::int32_t*>(args.inputs[Input::slots]),
               static_cast<const std::int32_t*>(args.inputs[Input::sources]), static_cast<C*>(args.inputs[Input::keys]),
               static_cast<C*>(args.inputs[Input::values]));
      }
      launch(append_cache_kernel<T, C>, grid_blocks(device_, e_.tokens * e_.width), block_threads, device_, e_, places,
             static_cast<const std::int32_t*>(args.inputs[Input::slots]),
             static_cast<const T*>(args.inputs[Input::qkv]), static_cast<C*>(args.inputs[Input::keys]),
             static_cast<C*>(args.inputs[Input::values]), static_cast<T*>(args.outputs[0]));
    });
  }

 private:
  Device& device_;
  CacheDims e_;
  DType dtype_, cache_dtype_;
};

class CachedAttentionKernel final : public Kernel {
 public:
  CachedAttentionKernel(const KernelContext& context, Device& device)
      : device_(device),
        e_(context.op_as<CachedAttention>().attrs(), context.inputs),
        dtype_(context.inputs[Input::qkv].dtype),
        cache_dtype_(context.inputs[Input::keys].dtype),
        scale_(1.0f / std::sqrt(static_cast<float>(e_.depth))) {}

  std::size_t workspace_bytes() const override {
    return static_cast<std::size_t>(e_.tokens * e_.heads * e_.chunks() * (e_.depth + 2)) * sizeof(float);
  }

  void run(const KernelArgs& args) override {
    const SequencePlaces places = sequence_places(e_.batch, 0, args.inputs, Input::offsets);
    const Partials partials{static_cast<float*>(args.workspace)};
    visit_floating2(dtype_, cache_dtype_, [&](auto zero, auto cache_zero) {
      using T = decltype(zero);
      using C = decltype(cache_zero);
      const dim3 grid(blocks_for(e_.tokens * e_.heads, block_warps), static_cast<unsigned>(e_.chunks()));
      launch(read_chunk_kernel<T, C>, grid, block_warps * warp, device_, e_, places, scale_,
             static_cast<const std::int32_t*>(args.inputs[Input::slots]),
             static_cast<const T*>(args.inputs[Input::qkv]), static_cast<const C*>(args.inputs[Input::keys]),
             static_cast<const C*>(args.inputs[Input::values]), partials);
      launch(join_chunks_kernel<T>, grid_blocks(device_, e_.tokens * e_.out_width()), block_threads, device_, e_,
             places, scale_, partials, static_cast<T*>(args.outputs[0]));
    });
  }

 private:
  Device& device_;
  CacheDims e_;
  DType dtype_, cache_dtype_;
  float scale_;
};

}  // namespace

std::unique_ptr<Kernel> make_append_cache(const KernelContext& context, Device& device) {
  return std::make_unique<AppendCacheKernel>(context, device);
}
std::unique_ptr<Kernel> make_cached_attention(const KernelContext& context, Device& device) {
  return std::make_unique<CachedAttentionKernel>(context, device);
}

}  // namespace ptrain::cuda

#include "core/cuda/kernels/attention/attention_steps.h"
#include "core/cuda/primitives/launch.cuh"

#include "core/cuda/primitives/dispatch.h"
#include "core/cuda/primitives/dropout.cuh"
#include "core/cuda/primitives/reduce.cuh"

#include <cmath>

namespace ptrain::cuda {
namespace {

constexpr int rows_per_block = block_threads / 32;  // one warp per row

/// If S is a multiple of 16 the mask's elements are contiguous, and no random bits are wasted.
__global__ void __launch_bounds__(block_threads)
    mask_run_kernel(std::int64_t packs, float p, std::uint32_t stream, const std::int64_t* rng, float kept, DType dtype,
                    void* mask) {
  __shared__ MaskWords words[block_threads / group_threads];
  const DropoutMask drawn = dropout_mask(p, rng, stream, packs * pack);
  for (std::int64_t i = grid_thread(); i < packs; i += grid_threads()) {
    float factors[pack];
    group_factors(drawn, static_cast<std::uint64_t>(i * pack), words[threadIdx.x / group_threads], factors);
#pragma unroll
    for (int k = 0; k < pack; ++k) factors[k] = factors[k] > 0 ? kept : 0.0f;
    if (dtype == DType::f16) store(static_cast<f16*>(mask) + i * pack, factors);
    if (dtype == DType::bf16) store(static_cast<bf16*>(mask) + i * pack, factors);
    if (dtype == DType::f32) store(static_cast<float*>(mask) + i * pack, factors);
  }
}

template <typename T>
__global__ void __launch_bounds__(block_threads)
    mask_elements_kernel(std::int64_t count, std::int64_t length, float p, std::uint32_t stream,
                         const std::int64_t* rng, float kept, T* mask) {
  const std::uint64_t stride = attention_mask_stride(length);
  const DropoutMask drawn = dropout_mask(p, rng, stream, count / length * static_cast<std::int64_t>(stride));
  for (std::int64_t i = grid_thread(); i < count; i += grid_threads()) {
    const std::uint64_t element =
        static_cast<std::uint64_t>(i / length) * stride + static_cast<std::uint64_t>(i % length);
    mask[i] = from_float<T>(drawn.keeps(element) ? kept : 0.0f);
  }
}

/// 64 drawn bits are the seed. The offset stays 0: libraries may advance the generator from it in ways of their own,
/// and nearby offsets might draw the same numbers for other elements.
__global__ void seed_kernel(std::uint32_t stream, const std::int64_t* rng, std::int64_t* seed, std::int64_t* offset) {
  const RandomStream random{static_cast<std::uint64_t>(rng[0]), static_cast<std::uint64_t>(rng[1]), stream};
  const Philox4 drawn = random.block(static_cast<std::uint64_t>(rng[2]));
  *seed = static_cast<std::int64_t>(static_cast<std::uint64_t>(drawn.y) << 32 | drawn.x);
  *offset = 0;
}

/// Address of element i of heads [parts][B,heads,S,D] in the tokens of qkv (3 parts) or out; none for padding elements
/// of packed sequences.
struct TokenPlace {
  std::int64_t at;
  bool valid;
  std::int64_t readers = 1;  // query heads that read the element, if this is the first of them, else 0

  __device__ TokenPlace(const AttentionExtents& e, int parts, const AttentionSequences& sequences, std::int64_t i) {
    const std::int64_t d = i % e.depth;
    i /= e.depth;
    const std::int64_t token = i % e.length;
    i /= e.length;
    const std::int64_t head = i % e.heads;
    i /= e.heads;
    const std::int64_t sequence = i % e.batch, part = i / e.batch;
    const std::int64_t width = parts == 1 ? e.out_width() : e.qkv_width();
    at = (sequences.places.begin(sequence) + token) * width + e.part_begin(static_cast<int>(part), head) + d;
    if (part > 0) readers = head % e.group() == 0 ? e.group() : 0;
    valid = token < sequences.lengths[sequence];
  }
};

/// A thread handles n elements of one head, starting at the first one's address.
template <int n, typename T>
__global__ void __launch_bounds__(block_threads)
    gather_kernel(AttentionExtents e, int parts, AttentionSequences sequences, const T* tokens, T* heads) {
  const std::int64_t count = parts * e.head_elements();
  for (std::int64_t i = grid_thread() * n; i < count; i += grid_threads() * n) {
    const TokenPlace place(e, parts, sequences, i);
    float values[n] = {};
    if (place.valid) load(tokens + place.at, values);
    store(heads + i, values);
  }
}

template <int n, typename T>
__global__ void __launch_bounds__(block_threads)
    spread_kernel(AttentionExtents e, int parts, AttentionSequences sequences, const T* heads, T* tokens) {
  const std::int64_t count = parts * e.head_elements();
  for (std::int64_t i = grid_thread() * n; i < count; i += grid_threads() * n) {
    const TokenPlace place(e, parts, sequences, i);
    if (place.readers == 0 || (!place.valid && e.packed)) continue;
    float values[n] = {};
    if (place.valid) load(heads + i, values);
    for (std::int64_t reader = 1; place.valid && reader < place.readers; ++reader) {
      float more[n];
      load(heads + i + reader * e.length * e.depth, more);
#pragma unroll
      for (int k = 0; k < n; ++k) values[k] += more[k];
    }
    store(tokens + place.at, values);
  }
}

/// One block per token.
template <typename T>
__global__ void clear_tokens_kernel(AttentionExtents e, std::int64_t width, AttentionSequences sequences, T* tokens) {
  const std::int64_t token = blockIdx.x;
  const bool valid = e.packed ? token < sequences.places.end() : token % e.length < sequences.lengths[token / e.length];
  if (valid) return;
  for (std::int64_t i = threadIdx.x; i < width; i += blockDim.x) tokens[token * width + i] = from_float<T>(0);
}

__global__ void __launch_bounds__(block_threads)
    clear_lse_kernel(AttentionExtents e, const std::int32_t* lengths, float* lse) {
  const std::int64_t row = grid_thread();
  if (row < e.rows() && row % e.length >= lengths[row / (e.length * e.heads)]) lse[row] = 0;
}

__global__ void __launch_bounds__(block_threads)
    element_offsets_kernel(SequencePlaces places, std::int64_t width, std::int32_t* offsets) {
  const std::int64_t i = grid_thread();
  if (i <= places.count) offsets[i] = static_cast<std::int32_t>(places.begin(i) * width);
}

/// This warp's row of scores; the first `valid` keys count, none if the query itself is padding.
struct Row {
  std::int64_t index, valid;

  __device__ Row(const AttentionExtents& e, const std::int32_t* lengths) {
    index = static_cast<std::int64_t>(blockIdx.x) * rows_per_block + threadIdx.x / 32;
    valid = 0;
    if (index >= e.rows()) return;
    const std::int64_t length = lengths[index / (e.length * e.heads)];
    const std::int64_t query = index % e.length;
    if (query < length) valid = e.causal ? query + 1 : length;
  }
};

template <typename T>
__global__ void __launch_bounds__(block_threads)
    softmax_kernel(AttentionExtents e, const std::int32_t* lengths, const float* scores, const T* mask,
                   float mask_scale, T* weights, float* lse) {
  const Row row(e, lengths);
  if (row.index >= e.rows()) return;
  const std::int64_t first = row.index * e.length;
  const int lane = threadIdx.x % 32;
  float largest = -__int_as_float(0x7f800000);
  for (std::int64_t k = lane; k < row.valid; k += 32) largest = fmaxf(largest, scores[first + k]);
  largest = warp_max(largest);
  float sum = 0;
  for (std::int64_t k = lane; k < row.valid; k += 32) sum += expf(scores[first + k] - largest);
  sum = warp_sum(sum);
  for (std::int64_t k = lane; k < e.length; k += 32) {
    float weight = 0;
    if (k < row.valid) {
      weight = expf(scores[first + k] - largest) / sum;
      if (mask != nullptr) weight *= to_float(mask[first + k]) * mask_scale;
    }
    weights[first + k] = from_float<T>(weight);
  }
  if (lane == 0) lse[row.index] = row.valid > 0 ? largest + logf(sum) : 0.0f;
}

template <typename T>
__global__ void __launch_bounds__(block_threads)
    softmax_grad_kernel(AttentionExtents e, const std::int32_t* lengths, const float* scores, const float* lse,
                        const float* dweights, const T* mask, float mask_scale, T* weights, T* dscores) {
  const Row row(e, lengths);
  if (row.index >= e.rows()) return;
  const std::int64_t first = row.index * e.length;
  const int lane = threadIdx.x % 32;
  const auto factor = [&](std::int64_t k) { return mask == nullptr ? 1.0f : to_float(mask[first + k]) * mask_scale; };
  const auto weight = [&](std::int64_t k) { return expf(scores[first + k] - lse[row.index]); };
  float delta = 0;  // the gradient's component along the weights
  for (std::int64_t k = lane; k < row.valid; k += 32) delta += weight(k) * factor(k) * dweights[first + k];
  delta = warp_sum(delta);
  for (std::int64_t k = lane; k < e.length; k += 32) {
    const float w = k < row.valid ? weight(k) : 0.0f, f = k < row.valid ? factor(k) : 0.0f;
    weights[first + k] = from_float<T>(w * f);
    dscores[first + k] = from_float<T>(k < row.valid ? w * (dweights[first + k] * f - delta) : 0.0f);
  }
}

}  // namespace

AttentionExtents::AttentionExtents(const AttentionAttributes& attributes, std::span<const TensorDesc> inputs)
    : AttentionDims(attributes, inputs[0], inputs[1]),
      scale(1.0f / std::sqrt(static_cast<float>(depth))),
      dtype(inputs[0].dtype),
      packed(attributes.max_length > 0),
      causal(attributes.causal) {}

void make_attention_mask(const Device& device, const AttentionExtents& e, const AttentionAttributes& attributes,
                         const void* rng, float kept, void* mask) {
  const auto* state = static_cast<const std::int64_t*>(rng);
  const std::int64_t count = e.scores();
  if (static_cast<std::uint64_t>(e.length) == attention_mask_stride(e.length)) {
    launch(mask_run_kernel, grid_blocks(device, count / pack), block_threads, device, count / pack, attributes.dropout,
           attributes.stream, state, kept, e.dtype, mask);
  } else {
    visit_floating(e.dtype, [&](auto zero) {
      launch(mask_elements_kernel<decltype(zero)>, grid_blocks(device, count), block_threads, device, count, e.length,
             attributes.dropout, attributes.stream, state, kept, static_cast<decltype(zero)*>(mask));
    });
  }
}

void make_attention_seed(const Device& device, const AttentionAttributes& attributes, const void* rng,
                         std::int64_t* seed, std::int64_t* offset) {
  launch(seed_kernel, 1, 1, device, attributes.stream, static_cast<const std::int64_t*>(rng), seed, offset);
}

void gather_heads(const Device& device, const AttentionExtents& e, int parts, const AttentionSequences& sequences,
                  const void* tokens, void* heads) {
  visit_row_pack(e.depth, e.dtype, [&](auto n, auto zero) {
    constexpr int packed = decltype(n)::value;
    using T = decltype(zero);
    launch(gather_kernel<packed, T>, grid_blocks(device, parts * e.head_elements() / packed), block_threads, device, e,
           parts, sequences, static_cast<const T*>(tokens), static_cast<T*>(heads));
  });
}

void spread_heads(const Device& device, const AttentionExtents& e, int parts, const AttentionSequences& sequences,
                  const void* heads, void* tokens) {
  visit_row_pack(e.depth, e.dtype, [&](auto n, auto zero) {
    constexpr int packed = decltype(n)::value;
    using T = decltype(zero);
    launch(spread_kernel<packed, T>, grid_blocks(device, parts * e.head_elements() / packed), block_threads, device, e,
           parts, sequences, static_cast<const T*>(heads), static_cast<T*>(tokens));
  });
}

void clear_padded_tokens(const Device& device, const AttentionExtents& e, std::int64_t width,
                         const AttentionSequences& sequences, void* tokens) {
  visit_floating(e.dtype, [&](auto zero) {
    launch(clear_tokens_kernel<decltype(zero)>, blocks_for(e.tokens, 1), block_threads, device, e, width, sequences,
           static_cast<decltype(zero)*>(tokens));
  });
}

void element_offsets(const Device& device, const SequencePlaces& places, std::int64_t width, std::int32_t* offsets) {
  launch(element_offsets_kernel, blocks_for(places.count + 1), block_threads, device, places, width, offsets);
}

void clear_padded_lse(const Device& device, const AttentionExtents& e, const std::int32_t* lengths, float* lse) {
  launch(clear_lse_kernel, blocks_for(e.rows()), block_threads, device, e, lengths, lse);
}

void softmax_rows(const Device& device, const AttentionExtents& e, const std::int32_t* lengths, const float* scores,
                  const void* mask, float mask_scale, void* weights, float* lse) {
  visit_floating(e.dtype, [&](auto zero) {
    using T = decltype(zero);
    launch(softmax_kernel<T>, blocks_for(e.rows(), rows_per_block), block_threads, device, e, lengths, scores,
           static_cast<const T*>(mask), mask_scale, static_cast<T*>(weights), lse);
  });
}

void softmax_grad_rows(const Device& device, const AttentionExtents& e, const std::int32_t* lengths,
                       const float* scores, const float* lse, const float* dweights, const void* mask, float mask_scale,
                       void* weights, void* dscores) {
  visit_floating(e.dtype, [&](auto zero) {
    using T = decltype(zero);
    launch(softmax_grad_kernel<T>, blocks_for(e.rows(), rows_per_block), block_threads, device, e, lengths, scores, lse,
           dweights, static_cast<const T*>(mask), mask_scale, static_cast<T*>(weights), static_cast<T*>(dscores));
  });
}

}  // namespace ptrain::cuda

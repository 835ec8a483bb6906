// Shared by attention and its gradient: a head's place in memory, tile sizes, and the threads' scratch.
#pragma once

#include "core/base/parallel.h"
#include "core/cpu/simd/dropout_factors.h"
#include "core/cpu/simd/small_gemm.h"
#include "core/ops/math/exp.h"
#include "core/ops/math/sequences.h"
#include "core/ops/text/attention.h"
#include "core/ops/text/cross_attention.h"

#include <cstdint>

namespace ptrain::cpu {

/// One attention problem. Tiles are `query_tile` x `key_tile` scores: a fixed size for flash, everything for math,
/// which is the same computation with one tile. Queries, keys and values may lie in one tensor or in two.
struct AttentionShape {
  std::int64_t batch, heads, kv_heads, depth;
  std::int64_t length, key_length;                   // of a sequence's queries, and of its keys
  std::int64_t tokens, key_tokens;                   // in all sequences
  std::int64_t query_stride, key_stride;             // elements between tokens
  std::int64_t first_query, first_key, first_value;  // elements of a token before these
  std::int64_t padded_depth = 0, padded_length = 0;  // the latter of keys
  std::int64_t query_tile = 0, key_tile = 0;
  float scale = 1;  // of the scores: 1 / sqrt(depth)
  bool causal = false;

  /// The problem of an op, or of its gradient, with these attributes and inputs.
  AttentionShape(const AttentionAttributes& attributes, std::span<const TensorDesc> inputs);
  AttentionShape(const CrossAttentionAttributes& attributes, std::span<const TensorDesc> inputs);

  std::int64_t group() const { return heads / kv_heads; }    // query heads that share a key head
  std::int64_t out_stride() const { return heads * depth; }  // elements between tokens of out
  std::int64_t query_offset(std::int64_t token, std::int64_t h) const {
    return token * query_stride + first_query + h * depth;
  }
  std::int64_t key_offset(std::int64_t token, std::int64_t h) const {
    return token * key_stride + first_key + h / group() * depth;
  }
  std::int64_t value_offset(std::int64_t token, std::int64_t h) const {
    return token * key_stride + first_value + h / group() * depth;
  }
  std::int64_t out_offset(std::int64_t token, std::int64_t h) const { return token * out_stride() + h * depth; }
  std::int64_t mask_row(std::int64_t b, std::int64_t h, std::int64_t query) const {
    return (b * heads + h) * length + query;
  }
  /// How many of the first `valid` keys any query before `end` attends to.
  std::int64_t keys_until(std::int64_t end, std::int64_t valid) const { return causal ? std::min(end, valid) : valid; }
  /// How many of `count` keys from `first` on one query attends to.
  std::int64_t keys_seen(std::int64_t query, std::int64_t first, std::int64_t count) const {
    return causal ? std::clamp(query + 1 - first, std::int64_t{0}, count) : count;
  }
  std::int64_t mask_elements() const {
    return batch * heads * length * static_cast<std::int64_t>(attention_mask_stride(key_length));
  }

 private:
  void choose_tiles(bool flash);
};

/// The inputs of a kernel that self and cross attention have at different places; dq and dkv are outputs `q` and `kv`.
struct AttentionSlots {
  std::size_t q, kv, rng, query_offsets, key_offsets;
  std::size_t lengths = SIZE_MAX;  // none: as the offsets say
};
inline constexpr AttentionSlots self_slots{Attention::qkv,     Attention::qkv,     Attention::rng,
                                           Attention::offsets, Attention::offsets, Attention::lengths};
inline constexpr AttentionSlots self_gradient_slots{AttentionGrad::qkv,     AttentionGrad::qkv,
                                                    AttentionGrad::rng,     AttentionGrad::offsets,
                                                    AttentionGrad::offsets, AttentionGrad::lengths};
inline constexpr AttentionSlots cross_slots{CrossAttention::q, CrossAttention::kv, CrossAttention::rng,
                                            CrossAttention::query_offsets, CrossAttention::key_offsets};

/// The sequence that a thread works on: its tokens, and the padding after them that the thread clears too.
struct SequenceRange {
  std::int64_t index;   // in the batch
  std::int64_t first;   // token
  std::int64_t valid;   // tokens
  std::int64_t padded;  // tokens with the padding

  SequenceRange(const SequencePlaces& places, const std::int32_t* lengths, std::int64_t b)
      : index(b),
        first(places.begin(b)),
        valid(lengths != nullptr ? lengths[b] : places.end(b) - first),
        padded(places.end(b) - first) {}
};

/// The sequences of a run.
struct AttentionSequences {
  SequencePlaces queries, keys;
  const std::int32_t* lengths;  // null: as the places say

  AttentionSequences(const AttentionShape& s, const AttentionSlots& slots, std::span<void* const> inputs)
      : queries(sequence_places(s.batch, s.length, inputs, slots.query_offsets)),
        keys(sequence_places(s.batch, s.key_length, inputs, slots.key_offsets)),
        lengths(slots.lengths < inputs.size() ? static_cast<const std::int32_t*>(inputs[slots.lengths]) : nullptr) {
    queries.past = keys.past = nullptr;
  }
  SequenceRange find_queries(std::int64_t b) const { return {queries, lengths, b}; }
  SequenceRange find_keys(std::int64_t b) const { return {keys, lengths, b}; }
};

/// Zeroes the rows [tokens, width] after the last sequence.
template <typename T>
void clear_tail(const SequencePlaces& places, std::int64_t tokens, std::int64_t width, T* rows) {
  std::fill(rows + places.end() * width, rows + tokens * width, T(0.0f));
}

/// Allocates parts of one thread's scratch memory.
class Scratch {
 public:
  explicit Scratch(float* memory) : next_(memory) {}
  template <typename Element = float>
  Element* take(std::int64_t count) {
    static_assert(sizeof(Element) == sizeof(float));
    float* taken = next_;
    next_ += round_to_lanes(count);
    return reinterpret_cast<Element*>(taken);
  }

 private:
  float* next_;
};

/// Calls body(sequence, head, scratch) for each of `heads` of every sequence; each of the `threads` has
/// `scratch_floats` of `workspace`.
template <typename Body>
void for_heads(const AttentionShape& s, std::int64_t heads, std::int64_t threads, std::int64_t scratch_floats,
               void* workspace, Body&& body) {
  parallel_for(threads, 1, [&](std::int64_t first, std::int64_t last) {
    for (std::int64_t part = first; part < last; ++part) {
      float* scratch = static_cast<float*>(workspace) + part * scratch_floats;
      // Interleaved, so that sequences of different lengths spread over the threads.
      for (std::int64_t task = part; task < s.batch * heads; task += threads) {
        body(task / heads, task % heads, Scratch(scratch));
      }
    }
  });
}

/// The dropout factors of a tile of scores whose rows are `ld` floats apart.
void tile_factors(const DropoutMask& mask, const AttentionShape& s, std::int64_t first_row, std::int64_t rows,
                  std::int64_t first_key, std::int64_t keys, std::int64_t ld, float* factors);

/// Replaces a row of scores by exp(scale * (score - largest)), and returns their sum.
inline float exp_row(float* scores, std::int64_t keys, std::int64_t padded, float scale, float largest) {
  float sum = 0;
#pragma omp simd reduction(+ : sum)
  for (std::int64_t k = 0; k < keys; ++k) {
    scores[k] = fast_exp(scale * (scores[k] - largest));
    sum += scores[k];
  }
  std::fill(scores + keys, scores + padded, 0.0f);
  return sum;
}

/// The largest of a row of scores and `start`.
inline float find_largest(const float* scores, std::int64_t keys, float start) {
  float largest = start;
#pragma omp simd reduction(max : largest)
  for (std::int64_t k = 0; k < keys; ++k) largest = scores[k] > largest ? scores[k] : largest;
  return largest;
}

/// Calls body(first, count) on tiles of `size` that cover [0, total).
template <typename Body>
void for_tiles(std::int64_t total, std::int64_t size, Body&& body) {
  for (std::int64_t first = 0; first < total; first += size) body(first, std::min(size, total - first));
}

}  // namespace ptrain::cpu

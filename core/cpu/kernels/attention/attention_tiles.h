// Shared by attention and its gradient: a head's place in memory, tile sizes, and the threads' scratch.
#pragma once

#include "core/base/parallel.h"
#include "core/cpu/simd/dropout_factors.h"
#include "core/cpu/simd/small_gemm.h"
#include "core/ops/math/exp.h"
#include "core/ops/math/sequences.h"
#include "core/ops/text/attention.h"

namespace ptrain::cpu {

/// One attention problem. Tiles are `query_tile` x `key_tile` scores: a fixed size for flash, everything for math,
/// which is the same computation with one tile.
struct AttentionShape : AttentionDims {
  std::int64_t padded_depth, padded_length;
  std::int64_t query_tile, key_tile;
  float scale;  // of the scores: 1 / sqrt(depth)
  bool causal;

  /// The problem of an op, or of its gradient, with these attributes and inputs.
  AttentionShape(const AttentionAttributes& attributes, std::span<const TensorDesc> inputs);

  std::int64_t row_stride() const { return qkv_width(); }                        // elements between tokens of qkv
  std::int64_t out_stride() const { return out_width(); }                        // and of out
  std::int64_t qkv_offset(std::int64_t token, std::int64_t h, int part) const {  // part: 0 q, 1 k, 2 v
    return token * row_stride() + part_begin(part, h);
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
    return batch * heads * length * static_cast<std::int64_t>(attention_mask_stride(length));
  }
};

/// The sequence that a thread works on: its tokens, and the padding after them that the thread clears too.
struct SequenceRange {
  std::int64_t index;   // in the batch
  std::int64_t first;   // token
  std::int64_t valid;   // tokens
  std::int64_t padded;  // tokens with the padding

  SequenceRange(const SequencePlaces& places, const std::int32_t* lengths, std::int64_t b)
      : index(b), first(places.begin(b)), valid(lengths[b]), padded(places.end(b) - first) {}
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

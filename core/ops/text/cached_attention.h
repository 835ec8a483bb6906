// Attention of a text's new tokens to those before them, whose keys and values are kept: an op that appends the new
// ones to the cache, and one that reads it. The cache has a slot for every text.
#pragma once

#include "core/base/host_device.h"
#include "core/graph/graph.h"

namespace ptrain {

struct CacheAttributes {
  int heads = 1;     // of queries
  int kv_heads = 1;  // of keys and of values, each shared by heads / kv_heads query heads
};

/// Keys that are read at a time; partial results are then joined (Dao et al., "Flash-Decoding", 2023). One number for
/// both backends, so that both add up in one order.
inline constexpr std::int64_t cache_chunk = 128;

/// Bytes of a step, an f32, after the integers of a head in a cache of 8 bits.
inline constexpr std::int64_t cache_step_bytes = sizeof(float);

/// The extents of one problem.
struct CacheDims {
  std::int64_t tokens, batch, heads, kv_heads, depth, capacity;  // T, B, heads, kv_heads, D, C
  std::int64_t width;                                            // elements of a token of qkv
  std::int64_t stride;                                           // elements from a position of the cache to the next

  /// The inputs must have passed the op's checks.
  CacheDims(const CacheAttributes& attributes, std::span<const TensorDesc> inputs);

  PTRAIN_HD std::int64_t group() const { return heads / kv_heads; }
  /// Where in a token of AppendCache's qkv its keys begin; its values follow them.
  PTRAIN_HD std::int64_t first_key() const { return width - 2 * kv_heads * depth; }
  PTRAIN_HD std::int64_t out_width() const { return heads * depth; }
  PTRAIN_HD std::int64_t chunks() const { return (capacity + cache_chunk - 1) / cache_chunk; }
  /// Where a position's key or value of a head is in the cache.
  PTRAIN_HD std::int64_t offset(std::int64_t slot, std::int64_t kv_head, std::int64_t position) const {
    return ((slot * kv_heads + kv_head) * capacity + position) * stride;
  }
};

/// inputs:  qkv [T, (heads+2*kv_heads)*D]: packed tokens as in Attention; or [T, 2*kv_heads*D], without queries;
///          keys and values [slots, kv_heads, C, D], state of any floating dtype, C tokens of each text; or s8
///          [slots, kv_heads, C, D + cache_step_bytes]: D multiples q of a step, and the step in f32. Of values with a
///          largest magnitude m the step is m / 127, and q = x (127 / m) in f32, ties to even;
///          slots i32 [B], the slot of each sequence; offsets i32 [B+1]: see require_offsets; past i32 [B]: see
///          require_past. A sequence may have no tokens; its slot is then not read;
///          sources i32 [B] (optional): first copies to each sequence's slot its past tokens from this slot, if it is
///          another one, which is no sequence's that copies.
/// outputs: qkv, as it was.
/// Writes each token's keys and values at its position, which the caller keeps below C.
class AppendCache final : public OpWith<CacheAttributes> {
 public:
  enum Input { qkv, keys, values, slots, offsets, past, sources };
  explicit AppendCache(CacheAttributes attributes);

  std::string_view type() const override { return "append_cache"; }
  std::string attributes() const override;
  std::vector<TensorDesc> infer(std::span<const TensorDesc> inputs) const override;
  AmpClass amp_class() const override { return AmpClass::keep; }
  bool amp_casts_input(int input) const override { return input == qkv; }
  bool mutates_input(int input) const override { return input == keys || input == values; }
  int inplace_input(int) const override { return qkv; }
  Cost cost(std::span<const TensorDesc> inputs, std::span<const TensorDesc> outputs) const override;
};

/// inputs:  those of AppendCache but sources, with the keys and values of the sequences' tokens appended; qkv may also
///          be the queries alone, [T, heads*D].
/// outputs: out [T, heads*D] in qkv's dtype: softmax(q k^T / sqrt(D)) v over the keys up to each token's own position;
/// 0
///          after the last sequence.
/// The cost takes the caches as full, since how long texts are is unknown before the step.
class CachedAttention final : public OpWith<CacheAttributes> {
 public:
  using Input = AppendCache::Input;
  explicit CachedAttention(CacheAttributes attributes);

  std::string_view type() const override { return "cached_attention"; }
  std::string attributes() const override;
  std::vector<TensorDesc> infer(std::span<const TensorDesc> inputs) const override;
  AmpClass amp_class() const override { return AmpClass::white; }
  bool amp_casts_input(int input) const override { return input == Input::qkv; }
  Cost cost(std::span<const TensorDesc> inputs, std::span<const TensorDesc> outputs) const override;
};

/// Gives the caches of a graph's AppendCache nodes, which are in fp32, that dtype: a floating one or s8.
void set_cache_dtype(Graph& graph, DType dtype);

}  // namespace ptrain

#include "core/cpu/kernels/attention/attention_tiles.h"

#include <cmath>

namespace ptrain::cpu {

AttentionShape::AttentionShape(const AttentionAttributes& attributes, std::span<const TensorDesc> inputs) {
  const AttentionDims e(attributes, inputs[Attention::qkv], inputs[Attention::lengths]);
  batch = e.batch, heads = e.heads, kv_heads = e.kv_heads, depth = e.depth;
  length = key_length = e.length;
  tokens = key_tokens = e.tokens;
  query_stride = key_stride = e.qkv_width();
  first_query = 0, first_key = e.part_begin(1, 0), first_value = e.part_begin(2, 0);
  causal = attributes.causal;
  choose_tiles(attributes.algorithm != AttentionAlgorithm::math);
}

AttentionShape::AttentionShape(const CrossAttentionAttributes& attributes, std::span<const TensorDesc> inputs) {
  const CrossAttentionDims e(attributes, inputs);
  batch = e.batch, heads = kv_heads = e.heads, depth = e.depth;
  length = e.most_queries, key_length = e.most_keys;
  tokens = e.queries, key_tokens = e.keys;
  query_stride = e.width(), key_stride = 2 * e.width();
  first_query = first_key = 0, first_value = e.width();
  choose_tiles(true);
}

void AttentionShape::choose_tiles(bool flash) {
  constexpr std::int64_t flash_queries = 48;
  constexpr std::int64_t flash_keys = 128;
  padded_depth = round_to_lanes(depth);
  padded_length = round_to_lanes(key_length);
  scale = 1.0f / std::sqrt(static_cast<float>(depth));
  query_tile = flash ? std::min(flash_queries, length) : length;
  key_tile = flash ? std::min(flash_keys, padded_length) : padded_length;
}

void tile_factors(const DropoutMask& mask, const AttentionShape& s, std::int64_t first_row, std::int64_t rows,
                  std::int64_t first_key, std::int64_t keys, std::int64_t ld, float* factors) {
  const auto stride = static_cast<std::int64_t>(attention_mask_stride(s.key_length));
  if (ld == stride && first_key == 0) {
    dropout_factors(mask, static_cast<std::uint64_t>(first_row * stride), rows * stride, factors);
    return;
  }
  for (std::int64_t r = 0; r < rows; ++r) {
    dropout_factors(mask, static_cast<std::uint64_t>((first_row + r) * stride + first_key), keys, factors + r * ld);
  }
}

}  // namespace ptrain::cpu

#include "core/cpu/kernels/attention/attention_tiles.h"

#include <cmath>

namespace ptrain::cpu {

AttentionShape::AttentionShape(const AttentionAttributes& attributes, std::span<const TensorDesc> inputs)
    : AttentionDims(attributes, inputs[0], inputs[1]),
      padded_depth(round_to_lanes(depth)),
      padded_length(round_to_lanes(length)),
      scale(1.0f / std::sqrt(static_cast<float>(depth))),
      causal(attributes.causal) {
  constexpr std::int64_t flash_queries = 48;
  constexpr std::int64_t flash_keys = 128;
  const bool flash = attributes.algorithm != AttentionAlgorithm::math;
  query_tile = flash ? std::min(flash_queries, length) : length;
  key_tile = flash ? std::min(flash_keys, padded_length) : padded_length;
}

void tile_factors(const DropoutMask& mask, const AttentionShape& s, std::int64_t first_row, std::int64_t rows,
                  std::int64_t first_key, std::int64_t keys, std::int64_t ld, float* factors) {
  const auto stride = static_cast<std::int64_t>(attention_mask_stride(s.length));
  if (ld == stride && first_key == 0) {
    dropout_factors(mask, static_cast<std::uint64_t>(first_row * stride), rows * stride, factors);
    return;
  }
  for (std::int64_t r = 0; r < rows; ++r) {
    dropout_factors(mask, static_cast<std::uint64_t>((first_row + r) * stride + first_key), keys, factors + r * ld);
  }
}

}  // namespace ptrain::cpu

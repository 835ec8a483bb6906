// Naive double-precision attention: every score, softmax, mask and sum written out.
#pragma once

#include "core/ops/math/dropout_math.h"
#include "core/ops/text/attention.h"
#include "tests/ops/op_case.h"

#include <cmath>
#include <functional>

namespace ptrain::testing {

/// What dropout multiplies the weight of (row, key) by, row counting (b, head, query).
using AttentionFactor = std::function<double(std::int64_t row, std::int64_t key)>;

/// {out, lse} of inputs qkv, lengths, with dropout rng, and of packed sequences their offsets. Dropout drops what
/// DropoutMask says, unless `factor` says otherwise.
inline std::vector<std::vector<double>> attention_reference(const std::vector<HostTensor>& in,
                                                            const AttentionAttributes& a, AttentionFactor factor = {}) {
  const Shape& shape = in[0].desc.shape;
  const bool packed = a.max_length > 0;
  const std::int64_t batch = in[1].desc.shape[0], length = packed ? a.max_length : shape[1];
  const std::int64_t heads = a.heads, kv_heads = a.kv_heads > 0 ? a.kv_heads : heads;
  const std::int64_t depth = shape[-1] / (heads + 2 * kv_heads), tokens = shape.count() / shape[-1];
  const auto first = [&](std::int64_t b) {
    return packed ? static_cast<std::int64_t>(in[3].values[static_cast<std::size_t>(b)]) : b * length;
  };
  const bool dropped = a.dropout > 0;
  const DropoutMask mask(a.dropout, dropped ? static_cast<std::uint64_t>(in[2].values[0]) : 0,
                         dropped ? static_cast<std::uint64_t>(in[2].values[1]) : 0, a.stream);
  if (!factor) {
    factor = [&](std::int64_t row, std::int64_t key) {
      const std::uint64_t row_start = static_cast<std::uint64_t>(row) * attention_mask_stride(length);
      return static_cast<double>(mask.factor(row_start + static_cast<std::uint64_t>(key)));
    };
  }
  const auto at = [&](std::int64_t b, std::int64_t t, std::int64_t part, std::int64_t h, std::int64_t d) {
    const std::int64_t head = part == 0 ? h : heads + (part - 1) * kv_heads + h / (heads / kv_heads);
    return in[0].values[static_cast<std::size_t>((first(b) + t) * shape[-1] + head * depth + d)];
  };
  std::vector<double> out(static_cast<std::size_t>(tokens * heads * depth));
  std::vector<double> lse(static_cast<std::size_t>(batch * heads * length));
  for (std::int64_t b = 0; b < batch; ++b) {
    const auto valid = static_cast<std::int64_t>(in[1].values[static_cast<std::size_t>(b)]);
    for (std::int64_t h = 0; h < heads; ++h) {
      for (std::int64_t q = 0; q < valid; ++q) {
        const std::int64_t seen = a.causal ? q + 1 : valid;
        std::vector<double> scores(static_cast<std::size_t>(seen));
        double sum = 0;
        for (std::int64_t k = 0; k < seen; ++k) {
          double dot = 0;
          for (std::int64_t d = 0; d < depth; ++d) dot += at(b, q, 0, h, d) * at(b, k, 1, h, d);
          scores[static_cast<std::size_t>(k)] = dot / std::sqrt(static_cast<double>(depth));
          sum += std::exp(scores[static_cast<std::size_t>(k)]);
        }
        const std::int64_t row = (b * heads + h) * length + q;
        lse[static_cast<std::size_t>(row)] = std::log(sum);
        for (std::int64_t k = 0; k < seen; ++k) {
          double weight = std::exp(scores[static_cast<std::size_t>(k)]) / sum;
          if (dropped) weight *= factor(row, k);
          for (std::int64_t d = 0; d < depth; ++d) {
            out[static_cast<std::size_t>(((first(b) + q) * heads + h) * depth + d)] += weight * at(b, k, 2, h, d);
          }
        }
      }
    }
  }
  return {out, lse};
}

}  // namespace ptrain::testing

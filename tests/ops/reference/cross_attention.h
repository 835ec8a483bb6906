// Naive double-precision cross attention: every score, softmax, mask and sum written out.
#pragma once

#include "core/ops/math/dropout_math.h"
#include "core/ops/text/cross_attention.h"
#include "tests/ops/op_case.h"

#include <cmath>

namespace ptrain::testing {

/// {out, lse} of inputs q, kv, query offsets, key offsets and dropout's rng.
inline std::vector<std::vector<double>> cross_attention_reference(const std::vector<HostTensor>& in,
                                                                  const CrossAttentionAttributes& a) {
  const auto heads = static_cast<std::size_t>(a.heads), width = static_cast<std::size_t>(in[0].desc.shape[1]);
  const auto most_queries = static_cast<std::size_t>(a.max_queries);
  const std::size_t depth = width / heads, batch = in[2].values.size() - 1;
  const bool drops = a.dropout > 0;
  const DropoutMask mask(a.dropout, drops ? static_cast<std::uint64_t>(in[4].values[0]) : 0,
                         drops ? static_cast<std::uint64_t>(in[4].values[1]) : 0, a.stream);
  std::vector<double> out(in[0].values.size()), lse(batch * heads * most_queries);
  for (std::size_t b = 0; b < batch; ++b) {
    const auto first = static_cast<std::size_t>(in[2].values[b]), end = static_cast<std::size_t>(in[2].values[b + 1]);
    const auto first_key = static_cast<std::size_t>(in[3].values[b]);
    const std::size_t keys = static_cast<std::size_t>(in[3].values[b + 1]) - first_key;
    for (std::size_t h = 0; h < heads; ++h) {
      for (std::size_t t = first; t < end; ++t) {
        const std::size_t row = (b * heads + h) * most_queries + t - first;
        const auto part = [&](std::size_t key, std::size_t value) {
          return in[1].values.begin() +
                 static_cast<std::ptrdiff_t>((first_key + key) * 2 * width + value * width + h * depth);
        };
        std::vector<double> scores(keys);
        double sum = 0;
        for (std::size_t k = 0; k < keys; ++k) {
          for (std::size_t d = 0; d < depth; ++d) {
            scores[k] += in[0].values[t * width + h * depth + d] * part(k, 0)[static_cast<std::ptrdiff_t>(d)];
          }
          scores[k] /= std::sqrt(static_cast<double>(depth));
          sum += std::exp(scores[k]);
        }
        lse[row] = std::log(sum);
        for (std::size_t k = 0; k < keys; ++k) {
          double weight = std::exp(scores[k]) / sum;
          const std::uint64_t element = row * attention_mask_stride(a.max_keys) + k;
          if (drops) weight *= static_cast<double>(mask.factor(element));
          for (std::size_t d = 0; d < depth; ++d) {
            out[t * width + h * depth + d] += weight * part(k, 1)[static_cast<std::ptrdiff_t>(d)];
          }
        }
      }
    }
  }
  return {out, lse};
}

}  // namespace ptrain::testing

// Naive attention to kept keys and values, in double, and problems for it.
#pragma once

#include "core/ops/text/cached_attention.h"
#include "tests/ops/op_case.h"

#include <algorithm>
#include <cmath>

namespace ptrain::testing::cached_attention_test {

using Input = AppendCache::Input;

struct Problem {
  CacheAttributes attributes;
  std::int64_t depth, capacity;
  std::vector<double> slots, past, tokens;  // of each sequence
};

inline constexpr std::int64_t spare_tokens = 3;  // after the last sequence

inline std::vector<HostTensor> make_inputs(const Problem& p, DType dtype, DType cache_dtype) {
  const auto batch = static_cast<std::int64_t>(p.slots.size());
  const HostTensor offsets = get_offsets(p.tokens);
  const auto tokens = static_cast<std::int64_t>(offsets.values.back()) + spare_tokens;
  const CacheAttributes& a = p.attributes;
  const std::int64_t slots = static_cast<std::int64_t>(*std::max_element(p.slots.begin(), p.slots.end())) + 1;
  const Shape cache{slots, a.kv_heads, p.capacity, p.depth};
  return {random_tensor(dtype, Shape{tokens, (a.heads + 2 * a.kv_heads) * p.depth}, 1, -1.5, 1.5),
          random_tensor(cache_dtype, cache, 2, -1.5, 1.5),
          random_tensor(cache_dtype, cache, 3, -1.5, 1.5),
          tensor(DType::i32, Shape{batch}, p.slots),
          offsets,
          tensor(DType::i32, Shape{batch}, p.past)};
}

/// Calls body(token, slot, position) for each token of a sequence.
template <typename Body>
void for_tokens(const Problem& p, Body&& body) {
  std::size_t token = 0;
  for (std::size_t b = 0; b < p.slots.size(); ++b)
    for (double i = 0; i < p.tokens[b]; ++i) {
      body(token++, static_cast<std::size_t>(p.slots[b]), static_cast<std::size_t>(p.past[b] + i));
    }
}

inline std::vector<double> attend(const Problem& p, const std::vector<HostTensor>& in) {
  const auto heads = static_cast<std::size_t>(p.attributes.heads);
  const auto kv_heads = static_cast<std::size_t>(p.attributes.kv_heads);
  const auto depth = static_cast<std::size_t>(p.depth), capacity = static_cast<std::size_t>(p.capacity);
  const std::size_t width = (heads + 2 * kv_heads) * depth;
  std::vector<double> out(in[Input::qkv].values.size() / width * heads * depth);
  for_tokens(p, [&](std::size_t token, std::size_t slot, std::size_t position) {
    for (std::size_t h = 0; h < heads; ++h) {
      const auto at = [&](std::size_t k, std::size_t d) {
        return ((slot * kv_heads + h / (heads / kv_heads)) * capacity + k) * depth + d;
      };
      std::vector<double> weights(position + 1);
      double sum = 0;
      for (std::size_t k = 0; k <= position; ++k) {
        double dot = 0;
        for (std::size_t d = 0; d < depth; ++d) {
          dot += in[Input::qkv].values[token * width + h * depth + d] * in[Input::keys].values[at(k, d)];
        }
        sum += weights[k] = std::exp(dot / std::sqrt(static_cast<double>(depth)));
      }
      for (std::size_t k = 0; k <= position; ++k)
        for (std::size_t d = 0; d < depth; ++d) {
          out[(token * heads + h) * depth + d] += weights[k] / sum * in[Input::values].values[at(k, d)];
        }
    }
  });
  return out;
}

/// Of different lengths, one without a token, one that begins; not in the order of their slots. Longer than a chunk.
inline const Problem texts{{6, 2}, 16, 300, {2, 0, 4, 3}, {290, 5, 0, 127}, {1, 0, 4, 2}};

}  // namespace ptrain::testing::cached_attention_test

// Multi-head attention of packed sequences to others, out = dropout(softmax(q k^T / sqrt(D))) v: a decoder's to the
// encoder's (Vaswani et al. 2017, section 3.2.3), and its gradient.
#pragma once

#include "core/base/host_device.h"
#include "core/graph/op.h"

namespace ptrain {

struct CrossAttentionAttributes {
  int heads = 1;
  float dropout = 0;             // probability that an attention weight is dropped; 0 in evaluation
  std::uint32_t stream = 0;      // random stream of the mask, unique per node
  std::int64_t max_queries = 1;  // no sequence has more queries
  std::int64_t max_keys = 1;     // or keys
};

/// The extents of one problem.
struct CrossAttentionDims {
  std::int64_t batch, heads, depth;      // B, heads, D
  std::int64_t queries, keys;            // T and K, in all sequences, padding included
  std::int64_t most_queries, most_keys;  // of a sequence

  /// The inputs must have passed the op's checks.
  CrossAttentionDims(const CrossAttentionAttributes& attributes, std::span<const TensorDesc> inputs);

  PTRAIN_HD std::int64_t width() const { return heads * depth; }  // elements of a query, a key, a value and of out
  PTRAIN_HD std::int64_t rows() const { return batch * heads * most_queries; }  // of scores
};

/// inputs:  q [T, heads*D]; kv [K, 2*heads*D]: each token's key [heads, D], then its value;
///          query_offsets and key_offsets i32 [B+1]: see require_offsets; a sequence with queries has keys;
///          rng i64 [3] = {seed, step, part} (optional without dropout).
/// outputs: out [T, heads*D] in q's dtype, 0 after the last sequence; lse f32 [B, heads, max_queries], the log of each
///          score row's sum of exponentials (0 beyond a sequence's queries).
/// The cost takes the tokens as evenly distributed over the sequences.
class CrossAttention final : public OpWith<CrossAttentionAttributes> {
 public:
  enum Input { q, kv, query_offsets, key_offsets, rng };
  explicit CrossAttention(CrossAttentionAttributes attributes);

  std::string_view type() const override { return "cross_attention"; }
  std::string attributes() const override;
  std::vector<TensorDesc> infer(std::span<const TensorDesc> inputs) const override;
  void gradient(GradientBuilder& builder) const override;
  AmpClass amp_class() const override { return AmpClass::white; }
  Cost cost(std::span<const TensorDesc> inputs, std::span<const TensorDesc> outputs) const override;
};

/// inputs:  those of CrossAttention; its out and lse; dout like out.
/// outputs: dq and dkv like q and kv, 0 after the last sequence.
class CrossAttentionGrad final : public OpWith<CrossAttentionAttributes> {
 public:
  enum Input { q, kv, query_offsets, key_offsets, rng, out, lse, dout };
  using OpWith::OpWith;

  std::string_view type() const override { return "cross_attention_grad"; }
  std::string attributes() const override;
  std::vector<TensorDesc> infer(std::span<const TensorDesc> inputs) const override;
  AmpClass amp_class() const override { return AmpClass::white; }
  bool amp_casts_input(int input) const override { return input != lse; }
  Cost cost(std::span<const TensorDesc> inputs, std::span<const TensorDesc> outputs) const override;
};

}  // namespace ptrain

// Multi-head self-attention out = dropout(softmax(q k^T / sqrt(D))) v over padded or packed sequences, full or causal,
// with as many key and value heads as queries or fewer (Ainslie et al., "GQA", 2023), and its gradient.
#pragma once

#include "core/base/enums.h"
#include "core/base/host_device.h"
#include "core/graph/op.h"

namespace ptrain {

struct AttentionAttributes {
  int heads = 1;
  float dropout = 0;         // probability that an attention weight is dropped; 0 in evaluation
  std::uint32_t stream = 0;  // random stream of the mask, unique per node
  AttentionAlgorithm algorithm = AttentionAlgorithm::flash;
  std::int64_t max_length = 0;  // S of packed sequences: no sequence is longer; 0: the sequences are padded
  bool causal = false;          // a query attends to no later key
  int kv_heads = 0;             // of keys and of values, each shared by heads / kv_heads query heads; 0: heads
};

/// The extents of one attention problem, padded or packed.
struct AttentionDims {
  std::int64_t batch, length, heads, kv_heads, depth;  // B, S, heads, kv_heads, D
  std::int64_t tokens;                                 // in all sequences, padding included: B*S, or T packed

  /// The inputs must have passed the op's checks.
  AttentionDims(const AttentionAttributes& attributes, const TensorDesc& qkv, const TensorDesc& lengths);

  /// Query heads that share a key head.
  PTRAIN_HD std::int64_t group() const { return heads / kv_heads; }
  /// Elements of a token of qkv, and of out.
  PTRAIN_HD std::int64_t qkv_width() const { return (heads + 2 * kv_heads) * depth; }
  PTRAIN_HD std::int64_t out_width() const { return heads * depth; }
  /// Where in a token of qkv a query head's part begins: its query (0), or the key (1) or value (2) that it reads.
  PTRAIN_HD std::int64_t part_begin(int part, std::int64_t head) const {
    return (part == 0 ? head : heads + (part - 1) * kv_heads + head / group()) * depth;
  }
};

/// inputs:  qkv [B, S, (heads+2*kv_heads)*D], or packed [T, (heads+2*kv_heads)*D]: each token's q [heads, D], then its
///          k and its v, each [kv_heads, D];
/// lengths i32 [B], the number of valid tokens of each sequence, 1..S; padding follows them;
///          rng i64 [3] = {seed, step, part} (optional without dropout);
///          offsets i32 [B+1] of packed sequences: see require_offsets.
/// outputs: out [B, S, heads*D] or [T, heads*D] in qkv's dtype, 0 in the padding; lse f32 [B, heads, S], the log of
///          each score row's sum of exponentials (0 beyond the length).
/// Packed sequences get the same mask as padded ones, except where a library draws it (flash); that mask is the same
/// for the gradient. The cost counts a product of all S keys for every token; for packed sequences, whose lengths are
/// unknown before the step, the tokens are taken as evenly distributed; causal attention counts (S + 1) / 2 keys on
/// average.
class Attention final : public OpWith<AttentionAttributes> {
 public:
  enum Input { qkv, lengths, rng, offsets };
  explicit Attention(AttentionAttributes attributes);

  std::string_view type() const override { return "attention"; }
  std::string attributes() const override;
  std::vector<TensorDesc> infer(std::span<const TensorDesc> inputs) const override;
  void gradient(GradientBuilder& builder) const override;
  AmpClass amp_class() const override { return AmpClass::white; }
  Cost cost(std::span<const TensorDesc> inputs, std::span<const TensorDesc> outputs) const override;
};

/// inputs:  qkv, lengths, rng (optional) as in Attention; its out and lse; dout like out; offsets (packed).
/// outputs: dqkv like qkv, 0 in the padding.
class AttentionGrad final : public OpWith<AttentionAttributes> {
 public:
  enum Input { qkv, lengths, rng, out, lse, dout, offsets };
  using OpWith::OpWith;

  std::string_view type() const override { return "attention_grad"; }
  std::string attributes() const override;
  std::vector<TensorDesc> infer(std::span<const TensorDesc> inputs) const override;
  AmpClass amp_class() const override { return AmpClass::white; }
  bool amp_casts_input(int input) const override { return input != 4; }
  Cost cost(std::span<const TensorDesc> inputs, std::span<const TensorDesc> outputs) const override;
};

}  // namespace ptrain

// Multi-head self-attention out = dropout(softmax(q k^T / sqrt(D))) v over padded sequences, and its gradient.
#pragma once

#include "core/graph/op.h"

namespace ptrain {

/// flash never holds the S x S scores (Dao et al., "FlashAttention", 2022); math holds one head's in the workspace.
/// Both compute the same function, dropout mask included.
enum class AttentionAlgorithm { flash, math };

std::string_view name_of(AttentionAlgorithm algorithm);

struct AttentionAttributes {
  int heads = 1;
  float dropout = 0;         // probability that an attention weight is dropped; 0 in evaluation
  std::uint32_t stream = 0;  // random stream of the mask, unique per node
  AttentionAlgorithm algorithm = AttentionAlgorithm::flash;
};

/// inputs:  qkv [B, S, 3*heads*D], each token's q, k and v one after the other, each [heads, D];
///          lengths i32 [B], the number of valid tokens of each row, 1..S, padding after them;
///          rng i64 [3] = {seed, step, part} (optional without dropout).
/// outputs: out [B, S, heads*D] in qkv's dtype, 0 beyond the length; lse f32 [B, heads, S], the log of each score
///          row's sum of exponentials (0 beyond the length).
class Attention final : public Op {
 public:
  explicit Attention(AttentionAttributes attributes);
  const AttentionAttributes& attrs() const { return attributes_; }

  std::string_view type() const override { return "attention"; }
  std::string attributes() const override;
  std::vector<TensorDesc> infer(std::span<const TensorDesc> inputs) const override;
  void gradient(GradientBuilder& builder) const override;
  AmpClass amp_class() const override { return AmpClass::white; }
  Cost cost(std::span<const TensorDesc> inputs, std::span<const TensorDesc> outputs) const override;

 private:
  AttentionAttributes attributes_;
};

/// inputs:  qkv, lengths, rng (optional) as in Attention; its out and lse; dout [B, S, heads*D].
/// outputs: dqkv [B, S, 3*heads*D] in qkv's dtype, 0 beyond the length.
class AttentionGrad final : public Op {
 public:
  explicit AttentionGrad(AttentionAttributes attributes) : attributes_(attributes) {}
  const AttentionAttributes& attrs() const { return attributes_; }

  std::string_view type() const override { return "attention_grad"; }
  std::string attributes() const override;
  std::vector<TensorDesc> infer(std::span<const TensorDesc> inputs) const override;
  AmpClass amp_class() const override { return AmpClass::white; }
  bool amp_casts_input(int input) const override { return input != 4; }
  Cost cost(std::span<const TensorDesc> inputs, std::span<const TensorDesc> outputs) const override;

 private:
  AttentionAttributes attributes_;
};

}  // namespace ptrain

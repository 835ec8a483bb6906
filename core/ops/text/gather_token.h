// Picks one token of every sequence (BERT's pooler reads the first), and its gradient.
#pragma once

#include "core/graph/op.h"

namespace ptrain {

/// inputs: x [B, S, H], or packed [T, H] with offsets i32 [B+1] (see require_offsets), where index is 0.
/// outputs: y [B, H] = token `index` of every sequence.
class GatherToken final : public Op {
 public:
  enum Input { x, offsets };
  explicit GatherToken(std::int64_t index = 0) : index_(index) {}
  std::int64_t index() const { return index_; }

  std::string_view type() const override { return "gather_token"; }
  std::string attributes() const override;
  std::vector<TensorDesc> infer(std::span<const TensorDesc> inputs) const override;
  void gradient(GradientBuilder& builder) const override;

 private:
  std::int64_t index_;
};

/// inputs: dy [B, H]; offsets (packed).
/// outputs: dx [B, tokens, H] or packed [tokens, H], zero but for the selected tokens.
class GatherTokenGrad final : public Op {
 public:
  enum Input { dy, offsets };
  GatherTokenGrad(std::int64_t index, std::int64_t tokens) : index_(index), tokens_(tokens) {}
  std::int64_t index() const { return index_; }
  std::int64_t tokens() const { return tokens_; }

  std::string_view type() const override { return "gather_token_grad"; }
  std::string attributes() const override;
  std::vector<TensorDesc> infer(std::span<const TensorDesc> inputs) const override;

 private:
  std::int64_t index_;
  std::int64_t tokens_;
};

}  // namespace ptrain

// Layers that read weights in blocks of 8 or 4 bits (core/base/block_format.h): in inference, since reading one token
// after the other takes as long as reading the weights does, and as the frozen layers beside adapters (QLoRA: Dettmers
// et al. 2023).
#pragma once

#include "core/base/block_format.h"
#include "core/graph/op.h"

namespace ptrain {

/// The weights [N, K] in blocks: u8 [N, bytes of a row]. K is a multiple of the format's block_elements().
TensorDesc describe_blocks(BlockFormat format, const Shape& weights);

struct BlockAttributes {
  BlockFormat format = BlockFormat::q8_0;
};

/// y = r(x) w^T + bias. r rounds each 32 adjacent elements of x to a multiple s q of s = their largest magnitude / 127,
/// q = x (127 / largest magnitude), all in f32, ties to even. Sums of 32 products (of 16 for q5_k and q6_k) are exact
/// integers; their sum is f32.
/// inputs: x f32 [..., K]; w, the blocks of [N, K]; bias f32 [N] (optional).  outputs: y f32 [..., N].
/// The gradient of x is that of r(x) = x; neither w nor the bias has one.
class BlockLinear final : public OpWith<BlockAttributes> {
 public:
  enum Input { x, w, bias };
  using OpWith::OpWith;

  std::string_view type() const override { return "block_linear"; }
  std::string attributes() const override { return std::string(enum_name(attributes_.format)); }
  std::vector<TensorDesc> infer(std::span<const TensorDesc> inputs) const override;
  void gradient(GradientBuilder& builder) const override;
  AmpClass amp_class() const override { return AmpClass::extra_black; }
  Cost cost(std::span<const TensorDesc> inputs, std::span<const TensorDesc> outputs) const override;
};

/// dx = dy w. inputs: dy f32 [..., N]; w, the blocks of [N, K].  outputs: dx f32 [..., K].
class BlockLinearGradInput final : public OpWith<BlockAttributes> {
 public:
  enum Input { dy, w };
  using OpWith::OpWith;

  std::string_view type() const override { return "block_linear_grad_input"; }
  std::string attributes() const override { return std::string(enum_name(attributes_.format)); }
  std::vector<TensorDesc> infer(std::span<const TensorDesc> inputs) const override;
  AmpClass amp_class() const override { return AmpClass::extra_black; }
  Cost cost(std::span<const TensorDesc> inputs, std::span<const TensorDesc> outputs) const override;
};

/// The rows of a table in blocks. inputs: ids i32 [...]; table, the blocks of [V, H].  outputs: y f32 [..., H].
class BlockEmbedding final : public OpWith<BlockAttributes> {
 public:
  enum Input { ids, table };
  using OpWith::OpWith;

  std::string_view type() const override { return "block_embedding"; }
  std::string attributes() const override { return std::string(enum_name(attributes_.format)); }
  std::vector<TensorDesc> infer(std::span<const TensorDesc> inputs) const override;
  AmpClass amp_class() const override { return AmpClass::extra_black; }
  Cost cost(std::span<const TensorDesc> inputs, std::span<const TensorDesc> outputs) const override;
};

}  // namespace ptrain

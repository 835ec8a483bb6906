// The patches of an image as a sequence of tokens after a class token (Dosovitskiy et al. 2021), and its gradient.
#pragma once

#include "core/graph/op.h"

namespace ptrain {

/// inputs:  x [N, H, W, C]; class_token f32 [C]; position f32 [S, C], S = H W + 1.
/// outputs: tokens [N, S, C] in x's dtype: class_token, then the patches row by row, each plus its position;
///          lengths i32 [N], all of them S, which attention reads.
class PatchEmbedding final : public Op {
 public:
  enum Input { x, class_token, position };
  enum Output { tokens, lengths };
  std::string_view type() const override { return "patch_embedding"; }
  std::vector<TensorDesc> infer(std::span<const TensorDesc> inputs) const override;
  void gradient(GradientBuilder& builder) const override;
  AmpClass amp_class() const override { return AmpClass::black; }
  bool amp_casts_input(int input) const override { return input == x; }
};

struct PatchEmbeddingGradAttributes {
  std::int64_t height = 1, width = 1;  // in patches
};

/// inputs:  dtokens [N, S, C].
/// outputs: dx [N, H, W, C] in its dtype; dclass_token f32 [C]; dposition f32 [S, C], the sums over the images.
class PatchEmbeddingGrad final : public OpWith<PatchEmbeddingGradAttributes> {
 public:
  enum Output { dx, dclass_token, dposition };
  using OpWith::OpWith;

  std::string_view type() const override { return "patch_embedding_grad"; }
  std::string attributes() const override;
  std::vector<TensorDesc> infer(std::span<const TensorDesc> inputs) const override;
  AmpClass amp_class() const override { return AmpClass::black; }
};

}  // namespace ptrain

// Sums of table rows over bags of ids (PyTorch's torch.nn.EmbeddingBag with mode "sum" and, as padding_idx, -1). f32 at
// every AMP level. Ids are trusted to be in range: they are checked where data is read.
#pragma once

#include "core/ops/sparse/sparse_gradient.h"

namespace ptrain {

/// inputs: ids i32 [..., K]; table f32 [V, H].  outputs: y f32 [..., H], the sum of the K rows, in order, without those
/// of id -1, which have no gradient either.
class EmbeddingBag final : public Op {
 public:
  enum Input { ids, table };
  explicit EmbeddingBag(TableGradient gradient = TableGradient::dense) : gradient_(gradient) {}
  TableGradient table_gradient() const { return gradient_; }

  std::string_view type() const override { return "embedding_bag"; }
  std::string attributes() const override { return gradient_ == TableGradient::sparse ? "sparse" : ""; }
  std::vector<TensorDesc> infer(std::span<const TensorDesc> inputs) const override;
  void gradient(GradientBuilder& builder) const override;
  AmpClass amp_class() const override { return AmpClass::extra_black; }
  Cost cost(std::span<const TensorDesc> inputs, std::span<const TensorDesc> outputs) const override;

 private:
  TableGradient gradient_;
};

}  // namespace ptrain

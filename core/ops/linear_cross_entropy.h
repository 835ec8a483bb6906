// The output layer of a language model and its loss, computed in chunks of rows: the logits of all rows are never in
// memory at once. The way of Liger Kernel's fused_linear_cross_entropy (arXiv:2410.10989, section 3.2).
#pragma once

#include "core/graph/op.h"

#include <optional>

namespace ptrain {

/// Of the rows of a chunk, so that each chunk of x begins at an address that suits every kernel.
inline constexpr std::int64_t chunk_rows_multiple = 64;

struct LinearCrossEntropyAttributes {
  float label_smoothing = 0;    // as in SoftmaxCrossEntropy
  std::int64_t chunk_rows = 0;  // rows whose logits are in memory at once; the last chunk may have fewer
};

/// inputs:  x [..., K]; w [V, K]; labels i32 [rows of x], 0..V-1 or ignored_label.
/// outputs: loss f32 [], that of softmax_cross_entropy for the logits x w^T; logits f32 [chunk_rows, V], memory for
/// those of one chunk, of no use to readers. Products are computed in x's dtype, to which the kernel converts w; logits
/// are f32.
class LinearCrossEntropy final : public OpWith<LinearCrossEntropyAttributes> {
 public:
  enum Input { x, w, labels };
  enum Output { loss, logits };
  using OpWith::OpWith;

  std::string_view type() const override { return "linear_cross_entropy"; }
  std::string attributes() const override;
  std::vector<TensorDesc> infer(std::span<const TensorDesc> inputs) const override;
  void gradient(GradientBuilder& builder) const override;
  AmpClass amp_class() const override { return AmpClass::white; }
  Cost cost(std::span<const TensorDesc> inputs, std::span<const TensorDesc> outputs) const override;
};

struct LinearCrossEntropyGradAttributes {
  LinearCrossEntropyAttributes loss = {};
  bool dx = true;
  std::optional<DType> dw;  // none: no dw
};

/// inputs:  x, w, labels as above; dloss f32 [].
/// outputs: loss f32 [] and logits f32 [chunk_rows, V] as above, since the gradient needs the logits anyway; then those
/// of `slots`: dx as x; dw [V, K]; memory for the gradient of a chunk's logits [chunk_rows, V] in x's dtype if x is in
/// low precision; memory for the sums of dw over the chunks, f32 [V, K], if dw is in low precision. The gradient of a
/// chunk's logits is rounded to x's dtype, as that of a linear layer's output is.
class LinearCrossEntropyGrad final : public OpWith<LinearCrossEntropyGradAttributes> {
 public:
  enum Input { x, w, labels, dloss };
  enum Output { loss, logits };
  using OpWith::OpWith;

  /// The outputs that there may be, by their index; -1: there is none.
  struct Slots {
    int dx = -1, dw = -1, dlogits = -1, sums = -1;
  };
  Slots slots(DType x_dtype) const;

  std::string_view type() const override { return "linear_cross_entropy_grad"; }
  std::string attributes() const override;
  std::vector<TensorDesc> infer(std::span<const TensorDesc> inputs) const override;
  AmpClass amp_class() const override { return AmpClass::white; }
  bool amp_casts_input(int input) const override { return input != dloss; }
  Cost cost(std::span<const TensorDesc> inputs, std::span<const TensorDesc> outputs) const override;
};

/// Rows of a chunk for that number of rows: an eighth of them, but at least 256, rounded up to chunk_rows_multiple.
/// Each chunk reads the weights twice, and reads and writes their gradient: with R rows, 6 R operations for about 16
/// bytes. From 256 rows on the products are bound by arithmetic on processors; GPUs need four times as many, which only
/// batches that fill them have.
std::int64_t choose_chunk_rows(std::int64_t rows);

}  // namespace ptrain

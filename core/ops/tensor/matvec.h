// Products of a batch of matrices, or of what ReLU leaves of them, with a vector each. The gradient may take over the
// matrices' memory, which those of BatchedMatmul and Activation may not.
#pragma once

#include "core/graph/op.h"

namespace ptrain {

struct MatvecAttributes {
  bool relu = false;  // of the matrices

  std::string to_string() const { return relu ? "relu" : ""; }
};

/// inputs: a [B,M,K]; v [B,K], of one floating dtype.
/// outputs: y [B,M] = a v, with relu max(a, 0) v, in that dtype, summed in f32.
class Matvec final : public OpWith<MatvecAttributes> {
 public:
  enum Input { a, v };
  using OpWith::OpWith;
  std::string_view type() const override { return "matvec"; }
  std::string attributes() const override { return attributes_.to_string(); }
  std::vector<TensorDesc> infer(std::span<const TensorDesc> inputs) const override;
  void gradient(GradientBuilder& builder) const override;
  AmpClass amp_class() const override { return AmpClass::white; }
  Cost cost(std::span<const TensorDesc> inputs, std::span<const TensorDesc> outputs) const override;
};

/// inputs: a [B,M,K]; v [B,K]; dy [B,M], of one floating dtype.
/// outputs: da [B,M,K]; dv [B,K], in that dtype, dv summed in f32 in the order of the rows.
class MatvecGrad final : public OpWith<MatvecAttributes> {
 public:
  enum Input { a, v, dy };
  enum Output { da, dv };
  using OpWith::OpWith;
  std::string_view type() const override { return "matvec_grad"; }
  std::string attributes() const override { return attributes_.to_string(); }
  std::vector<TensorDesc> infer(std::span<const TensorDesc> inputs) const override;
  AmpClass amp_class() const override { return AmpClass::white; }
  int inplace_input(int output) const override { return output == da ? a : -1; }
  Cost cost(std::span<const TensorDesc> inputs, std::span<const TensorDesc> outputs) const override;
};

}  // namespace ptrain

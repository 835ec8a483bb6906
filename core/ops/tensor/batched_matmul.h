// Products of two batches of matrices.
#pragma once

#include "core/graph/op.h"

namespace ptrain {

/// Memory order of a matrix: [rows, columns], or transposed [columns, rows].
enum class Orientation { plain, transposed };

struct BatchedMatmulAttributes {
  Orientation a = Orientation::plain;
  Orientation b = Orientation::plain;
};

/// inputs: a [.., M, K], or [.., K, M] transposed; b [.., K, N], or [.., N, K]; of one floating dtype, with the same
/// axes before the last two.  outputs: y [.., M, N] = a b in that dtype, summed in f32.
class BatchedMatmul final : public OpWith<BatchedMatmulAttributes> {
 public:
  enum Input { a, b };
  using OpWith::OpWith;
  std::string_view type() const override { return "batched_matmul"; }
  std::string attributes() const override;
  std::vector<TensorDesc> infer(std::span<const TensorDesc> inputs) const override;
  void gradient(GradientBuilder& builder) const override;
  AmpClass amp_class() const override { return AmpClass::white; }
  Cost cost(std::span<const TensorDesc> inputs, std::span<const TensorDesc> outputs) const override;
};

/// The size of one product, and the number of products.
struct BatchedMatmulExtent {
  std::int64_t batch, rows, inner, columns;
};
/// The extent of the products of a and b.
BatchedMatmulExtent batched_matmul_extent(const BatchedMatmulAttributes& attributes, const Shape& a, const Shape& b);

}  // namespace ptrain

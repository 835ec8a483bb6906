// Dropout zeroes elements or whole samples with probability p and scales the others by 1 / (1 - p); and its gradient.
#pragma once

#include "core/graph/op.h"

namespace ptrain {

/// What is kept or zeroed together: an element, or a whole sample (stochastic depth: Huang et al. 2016).
enum class DropoutUnit { element, sample };

struct DropoutAttributes {
  float p = 0.1f;
  std::uint32_t stream = 0;  // random stream of the mask, unique per node
  DropoutUnit unit = DropoutUnit::element;

  /// Elements of x [...] that share one random draw: samples are x's first axis.
  std::int64_t elements_per_draw(const Shape& x) const { return unit == DropoutUnit::element ? 1 : x.count() / x[0]; }
};

/// inputs: x [...]; rng i64 [3] = {seed, step, part}.  outputs: y [...] in x's dtype.
/// The mask is a function of (seed, step, stream, element or sample) alone: see core/ops/math/dropout_math.h.
class Dropout final : public OpWith<DropoutAttributes> {
 public:
  enum Input { x, rng };
  explicit Dropout(DropoutAttributes attributes);

  std::string_view type() const override { return "dropout"; }
  std::string attributes() const override;
  std::vector<TensorDesc> infer(std::span<const TensorDesc> inputs) const override;
  void gradient(GradientBuilder& builder) const override;
  int inplace_input(int) const override { return 0; }
};

/// inputs: dy [...]; rng i64 [3].  outputs: dx [...] in dy's dtype. The mask is recomputed, not stored.
class DropoutGrad final : public OpWith<DropoutAttributes> {
 public:
  enum Input { dy, rng };
  using OpWith::OpWith;

  std::string_view type() const override { return "dropout_grad"; }
  std::string attributes() const override;
  std::vector<TensorDesc> infer(std::span<const TensorDesc> inputs) const override;
  int inplace_input(int) const override { return 0; }
};

}  // namespace ptrain

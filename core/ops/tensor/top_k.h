// The largest elements of every row.
#pragma once

#include "core/graph/op.h"

namespace ptrain {

/// inputs: x [.., n], floating.
/// outputs: values [.., k] in x's dtype, the largest first, and their indices i32 [.., k]. Equal values are ordered by
/// index; NaN is larger than any number.
class TopK final : public Op {
 public:
  enum Output { values, indices };
  explicit TopK(std::int64_t k) : k_(k) {}
  std::int64_t k() const { return k_; }

  std::string_view type() const override { return "top_k"; }
  std::string attributes() const override;
  std::vector<TensorDesc> infer(std::span<const TensorDesc> inputs) const override;
  void gradient(GradientBuilder& builder) const override;

 private:
  std::int64_t k_;
};

}  // namespace ptrain

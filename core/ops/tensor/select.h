// Elementwise comparison, and selection between two tensors by a mask.
#pragma once

#include "core/graph/op.h"

namespace ptrain {

enum class Comparison { equal, not_equal, less, less_equal, greater, greater_equal };

/// The comparison's name in graphs.
std::string_view to_string(Comparison comparison);

struct CompareAttributes {
  Comparison comparison;
  float constant = 0;  // compared with a where there is no b
};

/// inputs: a [...]; b [...] (optional), both floating or i32, of one dtype and broadcast to each other.
/// outputs: a mask u8 [...], 1 where the comparison holds and 0 elsewhere. NaN equals nothing.
class Compare final : public OpWith<CompareAttributes> {
 public:
  enum Input { a, b };
  using OpWith::OpWith;
  std::string_view type() const override { return "compare"; }
  std::string attributes() const override;
  std::vector<TensorDesc> infer(std::span<const TensorDesc> inputs) const override;
  Cost cost(std::span<const TensorDesc> inputs, std::span<const TensorDesc> outputs) const override;
};

struct WhereAttributes {
  float if_true = 0;  // replaces an operand that is not given
  float if_false = 0;
  DType dtype = DType::f32;  // of the result, where neither operand is given
};

/// inputs: mask u8 [...]; a, b [...] (each optional), floating or i32, of one dtype; all broadcast to each other.
/// outputs: y [...] in that dtype: a where the mask is not 0, b elsewhere. Elements that are not selected, NaN
/// included, reach neither the result nor the gradients.
class Where final : public OpWith<WhereAttributes> {
 public:
  enum Input { mask, a, b };
  using OpWith::OpWith;
  std::string_view type() const override { return "where"; }
  std::string attributes() const override;
  std::vector<TensorDesc> infer(std::span<const TensorDesc> inputs) const override;
  void gradient(GradientBuilder& builder) const override;
  int inplace_input(int) const override { return a; }
  Cost cost(std::span<const TensorDesc> inputs, std::span<const TensorDesc> outputs) const override;
};

}  // namespace ptrain

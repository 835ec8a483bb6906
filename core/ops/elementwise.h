// Small elementwise ops: add, scale, cast.
#pragma once

#include "core/graph/op.h"

namespace ptrain {

/// inputs: a [...]; b [...], same shape and dtype.  outputs: a + b.
class Add final : public Op {
 public:
  enum Input { a, b };
  std::string_view type() const override { return "add"; }
  std::vector<TensorDesc> infer(std::span<const TensorDesc> inputs) const override;
  void gradient(GradientBuilder& builder) const override;
  int inplace_input(int) const override { return 0; }
  Cost cost(std::span<const TensorDesc> inputs, std::span<const TensorDesc> outputs) const override;
};

/// inputs: x [...].  outputs: x * factor.
class Scale final : public Op {
 public:
  explicit Scale(float factor) : factor_(factor) {}
  float factor() const { return factor_; }

  std::string_view type() const override { return "scale"; }
  std::string attributes() const override;
  std::vector<TensorDesc> infer(std::span<const TensorDesc> inputs) const override;
  void gradient(GradientBuilder& builder) const override;
  int inplace_input(int) const override { return 0; }
  Cost cost(std::span<const TensorDesc> inputs, std::span<const TensorDesc> outputs) const override;

 private:
  float factor_;
};

/// inputs: x [...], floating.  outputs: x rounded to `dtype`. Its gradient is cast back to x's dtype.
class Cast final : public Op {
 public:
  explicit Cast(DType dtype) : dtype_(dtype) {}
  DType dtype() const { return dtype_; }

  std::string_view type() const override { return "cast"; }
  std::string attributes() const override;
  std::vector<TensorDesc> infer(std::span<const TensorDesc> inputs) const override;
  void gradient(GradientBuilder& builder) const override;
  AmpClass amp_class() const override { return AmpClass::keep; }

 private:
  DType dtype_;
};

}  // namespace ptrain

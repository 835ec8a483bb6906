#include "core/ops/normalization/dropout_add_layer_norm.h"

#include "core/ops/math/dropout_math.h"
#include "tests/ops/op_case.h"
#include "tests/ops/reference/layer_norm.h"

#include <gtest/gtest.h>

namespace ptrain::testing {
namespace dropout_add_layer_norm_test {

constexpr DropoutAddLayerNormAttributes with_dropout{1e-5f, 0.25f, 9};
constexpr DropoutAddLayerNormAttributes without_dropout{1e-5f, 0, 0};

OpCase make_case(Shape shape, DType x, DType residual, DropoutAddLayerNormAttributes a) {
  OpCase c;
  c.op = std::make_shared<DropoutAddLayerNorm>(a);
  const std::int64_t width = shape[-1];
  c.inputs = {random_tensor(x, shape, 1), random_tensor(residual, shape, 2), random_tensor(DType::f32, Shape{width}, 3),
              random_tensor(DType::f32, Shape{width}, 4)};
  if (a.dropout > 0) c.inputs.push_back(tensor(DType::i64, Shape{3}, {42, 17, 0}));
  c.reference = [a](const std::vector<HostTensor>& in) {
    const DropoutMask mask(a.dropout, 42, 17, a.stream);
    std::vector<double> sum = in[1].values;
    for (std::size_t i = 0; i < sum.size(); ++i) sum[i] += in[0].values[i] * static_cast<double>(mask.factor(i));
    const auto r = layer_norm_reference(sum, in[2].values, in[3].values, 1e-5);
    std::vector outputs{r.y, sum, r.mean, r.rstd};
    if (a.low) outputs.push_back(r.y);
    return outputs;
  };
  c.gradient_inputs = {0, 1, 2, 3};
  return c;
}

TEST(DropoutAddLayerNorm, MatchesReferenceInEveryDtype) {
  for (const DType dtype : {DType::f32, DType::bf16, DType::f16}) {
    check_op(make_case(Shape{2, 3, 37}, dtype, dtype, with_dropout));
    check_op(make_case(Shape{2, 3, 37}, dtype, dtype, without_dropout));
  }
}

TEST(DropoutAddLayerNorm, AddsLowPrecisionToAnF32Residual) {
  check_op(make_case(Shape{5, 40}, DType::bf16, DType::f32, with_dropout));
  check_op(make_case(Shape{5, 40}, DType::bf16, DType::f32, without_dropout));
}

/// The gradient arrives at y, at y in low precision, or at both.
TEST(DropoutAddLayerNorm, WritesLowPrecisionToo) {
  for (const DType low : {DType::bf16, DType::f16}) {
    for (DropoutAddLayerNormAttributes attributes : {with_dropout, without_dropout}) {
      attributes.low = low;
      for (const std::vector<int>& arrives : {std::vector{0}, {4}, {0, 4}}) {
        OpCase c = make_case(Shape{5, 40}, low, DType::f32, attributes);
        c.gradient_outputs = arrives;
        check_op(c);
      }
    }
  }
}

TEST(DropoutAddLayerNorm, RoundsTheSameY) {
  DropoutAddLayerNormAttributes both = with_dropout;
  both.low = DType::bf16;
  OpCase c = make_case(Shape{5, 40}, DType::bf16, DType::f32, both);
  const std::vector<HostTensor> outputs = run_op(c.op, c.inputs);
  const std::vector<HostTensor> alone = run_op(std::make_shared<DropoutAddLayerNorm>(with_dropout), c.inputs);
  EXPECT_EQ(outputs[0].values, alone[0].values);
  for (std::size_t i = 0; i < outputs[4].values.size(); ++i) {
    EXPECT_EQ(outputs[4].values[i], round_to(DType::bf16, outputs[0].values[i]));
  }
}

TEST(DropoutAddLayerNorm, HandlesRowsWiderThanItsChunks) {
  OpCase c = make_case(Shape{2, 1100}, DType::f32, DType::f32, with_dropout);
  c.gradient_inputs.clear();
  check_op(c);
}

}  // namespace dropout_add_layer_norm_test
}  // namespace ptrain::testing

#include "core/ops/attention.h"

#include "tests/ops/op_case.h"
#include "tests/ops/reference/attention.h"

#include <gtest/gtest.h>

namespace ptrain::testing {
namespace {

struct Problem {
  std::int64_t length;
  std::int64_t depth;
  std::vector<double> lengths;
  AttentionAttributes attributes;
};

OpCase make_case(const Problem& p, DType dtype) {
  const auto batch = static_cast<std::int64_t>(p.lengths.size());
  OpCase c;
  c.op = std::make_shared<Attention>(p.attributes);
  const Shape shape{batch, p.length, 3 * p.attributes.heads * p.depth};
  c.inputs = {random_tensor(dtype, shape, 11, -1.5, 1.5), tensor(DType::i32, Shape{batch}, p.lengths)};
  if (p.attributes.dropout > 0) c.inputs.push_back(tensor(DType::i64, Shape{3}, {7, 3, 0}));
  c.reference = [a = p.attributes](const auto& in) { return attention_reference(in, a); };
  return c;
}

AttentionAttributes with(int heads, AttentionAlgorithm algorithm, float dropout = 0) {
  return {heads, dropout, 5, algorithm};
}

class AttentionAlgorithms : public ::testing::TestWithParam<AttentionAlgorithm> {};

TEST_P(AttentionAlgorithms, GradientMatchesFiniteDifferences) {
  for (const DType dtype : {DType::f32, DType::bf16, DType::f16}) {
    OpCase c = make_case({9, 32, {9, 1, 6}, with(2, GetParam())}, dtype);
    c.gradient_inputs = {0};
    check_op(c);
  }
}

TEST_P(AttentionAlgorithms, GradientWithDropoutMatchesFiniteDifferences) {
  for (const DType dtype : {DType::f32, DType::bf16}) {
    OpCase c = make_case({7, 19, {7, 3}, with(3, GetParam(), 0.3f)}, dtype);
    c.gradient_inputs = {0};
    check_op(c);
  }
}

TEST_P(AttentionAlgorithms, HandlesLengthsAroundTheTiles) {
  for (const DType dtype : {DType::f32, DType::bf16}) {
    check_op(make_case({131, 64, {131, 128, 48, 1}, with(2, GetParam())}, dtype));
    check_op(make_case({129, 32, {129, 97}, with(1, GetParam(), 0.2f)}, dtype));
    check_op(make_case({35, 21, {35, 8}, with(2, GetParam())}, dtype));
  }
}

INSTANTIATE_TEST_SUITE_P(Both, AttentionAlgorithms,
                         ::testing::Values(AttentionAlgorithm::flash, AttentionAlgorithm::math),
                         [](const auto& p) { return std::string(name_of(p.param)); });

/// Long enough for several tiles in both directions, where finite differences would take too long.
TEST(Attention, FlashGradientAgreesWithMathOverSeveralTiles) {
  for (const DType dtype : {DType::f32, DType::bf16}) {
    for (const std::int64_t depth : {std::int64_t{32}, std::int64_t{64}}) {
      OpCase flash = make_case({300, depth, {300, 177}, with(2, AttentionAlgorithm::flash, 0.1f)}, dtype);
      OpCase math = make_case({300, depth, {300, 177}, with(2, AttentionAlgorithm::math, 0.1f)}, dtype);
      flash.gradient_inputs = math.gradient_inputs = {0};
      const std::vector<HostTensor> seeds{random_tensor(dtype, Shape{2, 300, 2 * depth}, 5)};
      expect_close(run_gradient(flash, seeds)[0].values, run_gradient(math, seeds)[0].values, tolerance(dtype), "dqkv");
    }
  }
}

TEST(Attention, IgnoresWhatLiesInThePadding) {
  OpCase c = make_case({10, 32, {4}, with(1, AttentionAlgorithm::flash)}, DType::f32);
  std::vector<HostTensor> inputs = c.inputs;
  const std::vector<double> before = run_op(c.op, inputs)[0].values;
  for (std::size_t i = 4 * 96; i < inputs[0].values.size(); ++i) inputs[0].values[i] = 1e4;
  EXPECT_EQ(run_op(c.op, inputs)[0].values, before);
}

}  // namespace
}  // namespace ptrain::testing

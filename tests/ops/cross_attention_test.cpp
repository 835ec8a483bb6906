#include "core/ops/text/cross_attention.h"

#include "tests/ops/op_case.h"
#include "tests/ops/reference/cross_attention.h"

#include <gtest/gtest.h>

#include <algorithm>

namespace ptrain::testing {
namespace cross_attention_test {

struct Problem {
  int heads;
  std::int64_t depth;
  std::vector<double> queries, keys;  // of each sequence
  float dropout = 0;
};

/// With tokens after the last sequence.
OpCase make_case(const Problem& p, DType dtype) {
  const auto most = [](const std::vector<double>& lengths) {
    return static_cast<std::int64_t>(*std::max_element(lengths.begin(), lengths.end())) + 1;
  };
  const CrossAttentionAttributes attributes{p.heads, p.dropout, 5, most(p.queries), most(p.keys)};
  const HostTensor query_offsets = get_offsets(p.queries), key_offsets = get_offsets(p.keys);
  const auto tokens = [](const HostTensor& offsets, std::int64_t spare) {
    return static_cast<std::int64_t>(offsets.values.back()) + spare;
  };
  const std::int64_t width = p.heads * p.depth;
  OpCase c;
  c.op = std::make_shared<CrossAttention>(attributes);
  c.inputs = {random_tensor(dtype, Shape{tokens(query_offsets, 3), width}, 11, -1.5, 1.5),
              random_tensor(dtype, Shape{tokens(key_offsets, 2), 2 * width}, 12, -1.5, 1.5), query_offsets,
              key_offsets};
  if (p.dropout > 0) c.inputs.push_back(tensor(DType::i64, Shape{3}, {7, 3, 0}));
  c.reference = [attributes](const auto& in) { return cross_attention_reference(in, attributes); };
  return c;
}

TEST(CrossAttention, GradientMatchesFiniteDifferences) {
  for (const DType dtype : {DType::f32, DType::bf16, DType::f16}) {
    for (const float dropout : {0.0f, 0.3f}) {
      OpCase c = make_case({2, 19, {3, 1, 4}, {5, 6, 1}, dropout}, dtype);
      c.gradient_inputs = {0, 1};
      check_op(c);
    }
  }
}

TEST(CrossAttention, HandlesLengthsAroundTheTiles) {
  for (const DType dtype : {DType::f32, DType::bf16}) {
    check_op(make_case({2, 64, {131, 48, 1}, {1, 49, 257}}, dtype));
    check_op(make_case({1, 32, {97, 49}, {128, 129}, 0.2f}, dtype));
  }
}

/// As in a batch's rows without a sample's translation.
TEST(CrossAttention, KeysWithoutQueriesGetNoGradient) {
  OpCase c = make_case({2, 16, {2, 0, 3}, {4, 3, 2}}, DType::f32);
  c.gradient_inputs = {0, 1};
  check_op(c);
}

TEST(CrossAttention, CostTakesTheTokensAsEvenlyDistributed) {
  const CrossAttention op({2, 0, 0, 16, 32});
  const TensorDesc offsets{DType::i32, Shape{5}};
  const std::vector<TensorDesc> inputs{{DType::f32, Shape{40, 64}}, {DType::f32, Shape{80, 128}}, offsets, offsets};
  EXPECT_EQ(op.cost(inputs, op.infer(inputs)).flops, 2 * 2.0 * 40 * 64 * (80 / 4));
}

TEST(CrossAttention, RefusesKeysOfAnotherWidth) {
  const CrossAttention op({2, 0, 0, 16, 32});
  const TensorDesc offsets{DType::i32, Shape{5}};
  const std::vector<TensorDesc> inputs{{DType::f32, Shape{40, 64}}, {DType::f32, Shape{80, 64}}, offsets, offsets};
  EXPECT_THROW(op.infer(inputs), std::invalid_argument);
}

}  // namespace cross_attention_test
}  // namespace ptrain::testing

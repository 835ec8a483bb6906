#include "core/ops/text/attention.h"

#include "tests/ops/op_case.h"
#include "tests/ops/reference/attention.h"

#include <gtest/gtest.h>

#include <algorithm>

namespace ptrain::testing {
namespace attention_test {

struct Problem {
  std::int64_t length;  // of padded sequences; of packed ones (attributes.max_length) tokens that belong to none
  std::int64_t depth;
  std::vector<double> lengths;
  AttentionAttributes attributes;
};

/// Of a token's query, key and value.
std::int64_t count_channels(const Problem& p) {
  const int heads = p.attributes.heads, kv_heads = p.attributes.kv_heads;
  return (heads + 2 * (kv_heads > 0 ? kv_heads : heads)) * p.depth;
}

OpCase make_case(const Problem& p, DType dtype) {
  const auto batch = static_cast<std::int64_t>(p.lengths.size());
  OpCase c;
  c.op = std::make_shared<Attention>(p.attributes);
  const Shape shape{batch, p.length, count_channels(p)};
  c.inputs = {random_tensor(dtype, shape, 11, -1.5, 1.5), tensor(DType::i32, Shape{batch}, p.lengths)};
  if (p.attributes.dropout > 0) c.inputs.push_back(tensor(DType::i64, Shape{3}, {7, 3, 0}));
  c.reference = [a = p.attributes](const auto& in) { return attention_reference(in, a); };
  return c;
}

/// As make_case, of packed sequences with `p.length` tokens after them.
OpCase make_packed_case(Problem p, DType dtype) {
  p.attributes.max_length = static_cast<std::int64_t>(*std::max_element(p.lengths.begin(), p.lengths.end())) + 2;
  OpCase c = make_case(p, dtype);
  c.op = std::make_shared<Attention>(p.attributes);
  const HostTensor offsets = get_offsets(p.lengths);
  const auto tokens = static_cast<std::int64_t>(offsets.values.back()) + p.length;
  c.inputs[0] = random_tensor(dtype, Shape{tokens, count_channels(p)}, 11, -1.5, 1.5);
  if (p.attributes.dropout <= 0) c.inputs.push_back(absent_tensor());
  c.inputs.push_back(offsets);
  c.reference = [a = p.attributes](const auto& in) { return attention_reference(in, a); };
  return c;
}

/// With dropout, flash that drops what the reference drops.
AttentionAttributes with(int heads, AttentionAlgorithm algorithm, float dropout = 0) {
  if (dropout > 0 && algorithm == AttentionAlgorithm::flash) algorithm = AttentionAlgorithm::flash_mask;
  return {heads, dropout, 5, algorithm};
}

AttentionAttributes causal(AttentionAttributes attributes) {
  attributes.causal = true;
  return attributes;
}

AttentionAttributes grouped(AttentionAttributes attributes, int kv_heads) {
  attributes.kv_heads = kv_heads;
  return attributes;
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

TEST_P(AttentionAlgorithms, CausalGradientMatchesFiniteDifferences) {
  for (const DType dtype : {DType::f32, DType::bf16, DType::f16}) {
    for (const float dropout : {0.0f, 0.3f}) {
      OpCase c = make_case({9, 19, {9, 1, 6}, causal(with(2, GetParam(), dropout))}, dtype);
      c.gradient_inputs = {0};
      check_op(c);
    }
    OpCase packed = make_packed_case({5, 19, {7, 1, 3}, causal(with(2, GetParam()))}, dtype);
    packed.gradient_inputs = {0};
    check_op(packed);
  }
}

TEST_P(AttentionAlgorithms, CausalHandlesLengthsAroundTheTiles) {
  for (const DType dtype : {DType::f32, DType::bf16}) {
    check_op(make_case({300, 64, {300, 257, 129, 128, 97, 48, 1}, causal(with(1, GetParam()))}, dtype));
    check_op(make_case({145, 21, {145, 144}, causal(with(2, GetParam(), 0.2f))}, dtype));
  }
}

TEST_P(AttentionAlgorithms, QueryHeadsShareKeyHeads) {
  for (const DType dtype : {DType::f32, DType::bf16, DType::f16}) {
    OpCase padded = make_case({9, 16, {9, 1, 6}, grouped(with(4, GetParam()), 2)}, dtype);
    OpCase dropped = make_case({7, 16, {7, 3}, grouped(causal(with(3, GetParam(), 0.3f)), 1)}, dtype);
    OpCase packed = make_packed_case({5, 16, {7, 1, 3}, grouped(causal(with(6, GetParam())), 2)}, dtype);
    for (OpCase* c : {&padded, &dropped, &packed}) {
      c->gradient_inputs = {0};
      check_op(*c);
    }
  }
  check_op(make_packed_case({3, 64, {131, 48, 1}, grouped(causal(with(4, GetParam())), 2)}, DType::bf16));
}

TEST_P(AttentionAlgorithms, CausalRowsDoNotDependOnWhatComesLater) {
  OpCase c = make_case({140, 32, {140}, causal(with(1, GetParam()))}, DType::f32);
  std::vector<HostTensor> inputs = c.inputs;
  const std::vector<double> before = run_op(c.op, inputs)[0].values;
  for (std::size_t i = 131 * 96; i < inputs[0].values.size(); ++i) inputs[0].values[i] = 9;
  const std::vector<double> after = run_op(c.op, inputs)[0].values;
  EXPECT_TRUE(std::equal(before.begin(), before.begin() + 131 * 32, after.begin()));
  EXPECT_NE(before, after);
}

TEST_P(AttentionAlgorithms, PackedSequencesMatchTheReference) {
  for (const DType dtype : {DType::f32, DType::bf16, DType::f16}) {
    for (const float dropout : {0.0f, 0.3f}) {
      OpCase c = make_packed_case({5, 19, {7, 1, 3}, with(2, GetParam(), dropout)}, dtype);
      c.gradient_inputs = {0};
      check_op(c);
    }
    check_op(make_packed_case({0, 64, {131, 128, 48, 1}, with(2, GetParam(), 0.2f)}, dtype));
  }
}

/// Dropout included: packing moves rows and nothing else. On the CPU bit for bit; a GPU's library has other kernels for
/// packed sequences.
TEST_P(AttentionAlgorithms, PackedSequencesGiveThePaddedOnesRows) {
  const std::vector<double> lengths{40, 1, 17};
  constexpr std::int64_t longest = 50, heads = 2, depth = 24;
  const AttentionAttributes attributes = with(heads, GetParam(), 0.25f);
  for (const DType dtype : {DType::f32, DType::bf16}) {
    OpCase padded = make_case({longest, depth, lengths, attributes}, dtype);
    OpCase packed = make_packed_case({6, depth, lengths, attributes}, dtype);
    AttentionAttributes packed_attributes = attributes;
    packed_attributes.max_length = longest;
    packed.op = std::make_shared<Attention>(packed_attributes);
    padded.gradient_inputs = packed.gradient_inputs = {0};
    const HostTensor& offsets = packed.inputs[3];
    const auto copy_rows = [&](std::int64_t width, std::vector<double>& in_padded, std::vector<double>& in_packed) {
      for (std::size_t b = 0; b < lengths.size(); ++b) {
        std::copy_n(in_padded.begin() + static_cast<std::ptrdiff_t>(b) * longest * width,
                    static_cast<std::ptrdiff_t>(lengths[b]) * width,
                    in_packed.begin() + static_cast<std::ptrdiff_t>(offsets.values[b]) * width);
      }
    };
    copy_rows(3 * heads * depth, padded.inputs[0].values, packed.inputs[0].values);
    std::vector<HostTensor> seeds{random_tensor(dtype, Shape{3, longest, heads * depth}, 5)}, packed_seeds;
    packed_seeds.push_back(tensor(dtype, Shape{64, heads * depth}, std::vector<double>(64 * heads * depth)));
    copy_rows(heads * depth, seeds[0].values, packed_seeds[0].values);

    const bool exact = make_test_backend()->name() == "cpu";
    const auto expect_same = [&](const std::vector<double>& actual, const std::vector<double>& expected) {
      EXPECT_TRUE(!exact || actual == expected);
      expect_close(actual, expected, tolerance(dtype), "packed");
    };
    const auto expect_same_rows = [&](std::int64_t width, std::vector<double> rows, const std::vector<double>& actual) {
      std::vector<double> expected(actual.size());
      copy_rows(width, rows, expected);
      expect_same(actual, expected);
    };
    const std::vector<HostTensor> out = run_op(padded.op, padded.inputs), packed_out = run_op(packed.op, packed.inputs);
    expect_same_rows(heads * depth, out[0].values, packed_out[0].values);
    expect_same(packed_out[1].values, out[1].values);
    expect_same_rows(3 * heads * depth, run_gradient(padded, seeds)[0].values,
                     run_gradient(packed, packed_seeds)[0].values);
  }
}

INSTANTIATE_TEST_SUITE_P(Both, AttentionAlgorithms,
                         ::testing::Values(AttentionAlgorithm::flash, AttentionAlgorithm::math), case_name);

/// Long enough for several tiles in both directions, where finite differences would take too long.
TEST(Attention, FlashGradientAgreesWithMathOverSeveralTiles) {
  for (const DType dtype : {DType::f32, DType::bf16}) {
    for (const std::int64_t depth : {std::int64_t{32}, std::int64_t{64}}) {
      for (const bool sees_all : {true, false}) {
        AttentionAttributes tiled = with(2, AttentionAlgorithm::flash, 0.1f);
        AttentionAttributes plain = with(2, AttentionAlgorithm::math, 0.1f);
        tiled.causal = plain.causal = !sees_all;
        OpCase flash = make_case({300, depth, {300, 177}, tiled}, dtype);
        OpCase math = make_case({300, depth, {300, 177}, plain}, dtype);
        flash.gradient_inputs = math.gradient_inputs = {0};
        const std::vector<HostTensor> seeds{random_tensor(dtype, Shape{2, 300, 2 * depth}, 5)};
        expect_close(run_gradient(flash, seeds)[0].values, run_gradient(math, seeds)[0].values, tolerance(dtype),
                     "dqkv");
      }
    }
  }
}

/// Libraries divide the memory that they work in by rows of scores; an odd number of rows tries its alignment.
TEST(Attention, FlashGradientAgreesWithMathWhereRowsAreOddInNumber) {
  for (const DType dtype : {DType::bf16, DType::f16}) {
    for (const std::vector<double>& lengths : {std::vector<double>{77}, {77, 40, 5}}) {
      OpCase flash = make_case({77, 32, lengths, with(3, AttentionAlgorithm::flash)}, dtype), math = flash;
      flash.gradient_inputs = math.gradient_inputs = {0};
      math.op = std::make_shared<Attention>(with(3, AttentionAlgorithm::math));
      const Shape out{static_cast<std::int64_t>(lengths.size()), 77, 96};
      const std::vector<HostTensor> seeds{random_tensor(dtype, out, 5)};
      expect_close(run_gradient(flash, seeds)[0].values, run_gradient(math, seeds)[0].values, tolerance(dtype), "dqkv");
    }
  }
}

/// Their exponentials are zero in fp32 until the largest is taken off. At these lengths a library's kernel for
/// gradients was seen to give NaN of them.
TEST(Attention, FlashAgreesWithMathWhereScoresAreFarBelowZero) {
  constexpr std::int64_t depth = 64;
  for (const DType dtype : {DType::f32, DType::bf16, DType::f16}) {
    for (const std::int64_t length : {64, 192}) {
      OpCase flash =
          make_case({length, depth, {static_cast<double>(length)}, with(1, AttentionAlgorithm::flash)}, dtype);
      std::vector<double>& qkv = flash.inputs[0].values;
      for (std::size_t i = 0; i < qkv.size(); ++i) {
        const std::size_t part = i / depth % 3;  // query, key, value
        if (part < 2) qkv[i] = round_to(dtype, (part == 0 ? 4.0 : -4.0) + 0.1 * qkv[i]);
      }
      check_op(flash);
      flash.gradient_inputs = {0};
      OpCase math = flash;
      math.op = std::make_shared<Attention>(with(1, AttentionAlgorithm::math));
      const std::vector<HostTensor> seeds{random_tensor(dtype, Shape{1, length, depth}, 5)};
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

TEST(Attention, PackedCostCountsTheTokensAndTheirEvenShare) {
  AttentionAttributes attributes = with(2, AttentionAlgorithm::flash);
  attributes.max_length = 128;
  const TensorDesc qkv{DType::f32, Shape{96, 3 * 64}}, lengths{DType::i32, Shape{6}}, offsets{DType::i32, Shape{7}};
  const std::vector<TensorDesc> inputs{qkv, lengths, absent_input(), offsets};
  const Attention op(attributes);
  EXPECT_EQ(op.cost(inputs, op.infer(inputs)).flops, 2 * 2.0 * 96 * 64 * (96 / 6));
}

TEST(Attention, CausalCostCountsTheKeysThatAreSeen) {
  const TensorDesc qkv{DType::f32, Shape{2, 16, 3 * 64}}, lengths{DType::i32, Shape{2}};
  const std::vector<TensorDesc> inputs{qkv, lengths};
  const Attention op(causal(with(2, AttentionAlgorithm::flash)));
  constexpr double pairs = 2 * 16 * 17 / 2;
  EXPECT_EQ(op.cost(inputs, op.infer(inputs)).flops, 2 * 2.0 * 64 * pairs);
}

TEST(Attention, CostOfSharedKeysCountsEveryQueryHead) {
  const TensorDesc qkv{DType::f32, Shape{2, 16, (4 + 2 * 2) * 32}}, lengths{DType::i32, Shape{2}};
  const std::vector<TensorDesc> inputs{qkv, lengths};
  const Attention op(grouped(with(4, AttentionAlgorithm::flash), 2));
  const std::vector<TensorDesc> outputs = op.infer(inputs);
  EXPECT_EQ(outputs[0].shape, (Shape{2, 16, 4 * 32}));
  EXPECT_EQ(op.cost(inputs, outputs).flops, 2 * 2.0 * 2 * 16 * 16 * 4 * 32);
}

TEST(Attention, RefusesPackedSequencesWithoutOffsetsOrALength) {
  const TensorDesc qkv{DType::f32, Shape{96, 3 * 64}}, lengths{DType::i32, Shape{6}}, offsets{DType::i32, Shape{7}};
  AttentionAttributes attributes = with(2, AttentionAlgorithm::flash);
  const std::vector<TensorDesc> packed{qkv, lengths, absent_input(), offsets}, bare{qkv, lengths};
  EXPECT_THROW(Attention(attributes).infer(packed), std::invalid_argument);
  attributes.max_length = 32;
  EXPECT_THROW(Attention(attributes).infer(bare), std::invalid_argument);
  const std::vector<TensorDesc> too_many{qkv, {DType::i32, Shape{7}}, absent_input(), offsets};
  EXPECT_THROW(Attention(attributes).infer(too_many), std::invalid_argument);
}

}  // namespace attention_test
}  // namespace ptrain::testing

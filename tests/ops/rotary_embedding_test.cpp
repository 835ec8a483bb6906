#include "core/ops/text/rotary_embedding.h"

#include "tests/ops/op_case.h"

#include <gtest/gtest.h>

#include <cmath>

namespace ptrain::testing {
namespace rotary_embedding_test {

/// The positions of `tokens` in sequences of these lengths; 0 after them.
std::vector<double> get_positions(const std::vector<double>& lengths, std::size_t tokens) {
  std::vector<double> positions;
  for (const double length : lengths)
    for (double p = 0; p < length; ++p) positions.push_back(p);
  positions.resize(tokens);
  return positions;
}

/// Angles are products of floats.
std::vector<double> make_table(const std::vector<double>& positions, const RotaryAttributes& attributes) {
  std::vector<double> table;
  for (const double position : positions) {
    std::vector<double> sines;
    for (const float frequency : rotary_frequencies(attributes)) {
      const auto angle = static_cast<double>(static_cast<float>(position) * frequency);
      table.push_back(std::cos(angle));
      sines.push_back(std::sin(angle));
    }
    table.insert(table.end(), sines.begin(), sines.end());
  }
  return table;
}

void expect_table(const RotaryAttributes& attributes, std::vector<HostTensor> inputs,
                  const std::vector<double>& positions) {
  const std::vector<HostTensor> outputs = run_op(std::make_shared<RotaryTable>(attributes), inputs);
  expect_close(outputs[0].values, make_table(positions, attributes), tolerance(DType::f32), "table");
}

TEST(RotaryTable, CountsPositionsFromTheStartOfEverySequence) {
  const RotaryAttributes attributes{.depth = 10, .theta = 500};
  const HostTensor padded = tensor(DType::i32, Shape{2, 70}, std::vector<double>(140));
  expect_table(attributes, {padded}, get_positions({70}, 70));
  const std::vector<double> lengths{5, 1, 64, 3};
  const HostTensor packed = tensor(DType::i32, Shape{80}, std::vector<double>(80));
  expect_table(attributes, {packed, get_offsets(lengths)}, get_positions(lengths, 80));
}

TEST(RotaryTable, MayHaveTheSinesFirst) {
  const std::vector<HostTensor> inputs{tensor(DType::i32, Shape{1, 9}, std::vector<double>(9))};
  std::vector<HostTensor> plain_inputs = inputs, other_inputs = inputs;
  const std::vector<HostTensor> plain =
      run_op(std::make_shared<RotaryTable>(RotaryAttributes{.depth = 8}), plain_inputs);
  const std::vector<HostTensor> other =
      run_op(std::make_shared<RotaryTable>(RotaryAttributes{.depth = 8, .sines_first = true}), other_inputs);
  for (std::size_t i = 0; i < plain[0].values.size(); ++i) {
    EXPECT_EQ(other[0].values[i / 8 * 8 + (i + 4) % 8], plain[0].values[i]);
  }
}

TEST(RotaryTable, ContinuesSequences) {
  const RotaryAttributes attributes{.depth = 10, .theta = 500};
  expect_table(attributes,
               {tensor(DType::i32, Shape{5}, std::vector<double>(5)), get_offsets({2, 0, 1}),
                tensor(DType::i32, Shape{3}, {70, 4, 0})},
               {70, 71, 0, 0, 0});
}

TEST(RotaryTable, ScalesFrequencies) {
  RotaryAttributes attributes{.depth = 64, .theta = 500000};
  const std::vector<float> plain = rotary_frequencies(attributes);
  attributes.scaling = {.kind = RotaryScaling::Kind::linear, .factor = 4};
  EXPECT_FLOAT_EQ(rotary_frequencies(attributes)[5], plain[5] / 4);
  // Of transformers' Llama-3.2-1B: a short wavelength, one of those between the two bounds, and a long one.
  attributes.scaling = {RotaryScaling::Kind::llama3, 32, 1, 4, 8192};
  const std::vector<float> llama3 = rotary_frequencies(attributes);
  EXPECT_EQ(llama3[3], plain[3]);
  const double turns = 8192 * static_cast<double>(plain[15]) / (2 * M_PI), smooth = (turns - 1) / 3;
  ASSERT_GT(smooth, 0);
  ASSERT_LT(smooth, 1);
  EXPECT_NEAR(llama3[15], static_cast<double>(plain[15]) * ((1 - smooth) / 32 + smooth), 1e-9);
  EXPECT_FLOAT_EQ(llama3[31], plain[31] / 32);
}

struct Rotation {
  std::int64_t heads, depth, rest;  // rest: channels after the rotated heads
};

class RotaryEmbeddingCases : public ::testing::TestWithParam<Rotation> {};

TEST_P(RotaryEmbeddingCases, AgreesWithReferenceInEveryDtype) {
  const auto [heads, depth, rest] = GetParam();
  const std::int64_t width = heads * depth + rest;
  const std::vector<double> table = make_table(get_positions({6}, 6), {.depth = depth, .theta = 100});
  for (const DType dtype : {DType::f32, DType::bf16, DType::f16}) {
    for (const bool inverse : {false, true}) {
      const auto rotate = [=, heads = heads, depth = depth](const std::vector<HostTensor>& in) {
        const std::vector<double>&x = in[0].values, &angles = in[1].values;
        std::vector<double> y = x;
        const auto half = static_cast<std::size_t>(depth / 2);
        for (std::size_t t = 0; t < x.size() / static_cast<std::size_t>(width); ++t)
          for (std::size_t h = 0; h < static_cast<std::size_t>(heads); ++h)
            for (std::size_t i = 0; i < half; ++i) {
              const std::size_t at = t * static_cast<std::size_t>(width) + 2 * h * half + i;
              const double cosine = angles[t % 6 * 2 * half + i];
              const double sine = (inverse ? -1 : 1) * angles[t % 6 * 2 * half + half + i];
              y[at] = x[at] * cosine - x[at + half] * sine;
              y[at + half] = x[at + half] * cosine + x[at] * sine;
            }
        return std::vector<std::vector<double>>{y};
      };
      for (const Shape& shape : {Shape{2, 6, width}, Shape{6, width}}) {
        check_op({.op = std::make_shared<RotaryEmbedding>(RotaryEmbeddingAttributes{heads, inverse}),
                  .inputs = {random_tensor(dtype, shape, 3), tensor(DType::f32, Shape{6, depth}, table)},
                  .reference = rotate,
                  .gradient_inputs = {RotaryEmbedding::x}});
      }
    }
  }
}

INSTANTIATE_TEST_SUITE_P(Heads, RotaryEmbeddingCases,
                         ::testing::Values(Rotation{1, 2, 0}, Rotation{3, 16, 16}, Rotation{2, 22, 7},
                                           Rotation{2, 64, 64}));

TEST(RotaryEmbedding, RefusesATableOfOtherTokens) {
  const std::vector<TensorDesc> inputs{{DType::f32, {2, 6, 32}}, {DType::f32, {5, 16}}};
  EXPECT_THROW(RotaryEmbedding(RotaryEmbeddingAttributes{2}).infer(inputs), std::invalid_argument);
}

}  // namespace rotary_embedding_test
}  // namespace ptrain::testing

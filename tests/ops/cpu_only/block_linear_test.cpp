#include "core/ops/quantization/block_linear.h"

#include "core/ops/require.h"
#include "tests/ops/reference/block_linear.h"

#include <gtest/gtest.h>

namespace ptrain::testing {
namespace block_linear_test {

/// At least `elements`, in whole blocks.
std::int64_t whole_blocks(BlockFormat format, std::int64_t elements) {
  const std::int64_t each = block_elements(format);
  return (elements + each - 1) / each * each;
}

/// Of x [..., in or somewhat more] and `out` columns, with a bias or without.
void check_layer(BlockFormat format, Shape x, std::int64_t out, bool bias) {
  const std::int64_t in = whole_blocks(format, x[-1]);
  x = with_last(x, in);
  OpCase c;
  c.op = std::make_shared<BlockLinear>(BlockAttributes{format});
  c.inputs = {random_tensor(DType::f32, x, 1, -3, 3), random_blocks(format, Shape{out, in}, 2),
              bias ? random_tensor(DType::f32, Shape{out}, 4) : absent_tensor()};
  c.reference = [format](const std::vector<HostTensor>& inputs) {
    return std::vector<std::vector<double>>{block_linear_reference(format, inputs)[0]};
  };
  check_op(c);
}

/// Rows and columns that fill tiles, leave some over, or are fewer than a tile's.
TEST(BlockLinear, MatchesTheReferenceOfEveryFormat) {
  for (const BlockFormat format : block_formats) {
    SCOPED_TRACE(enum_name(format));
    for (const std::int64_t rows : {1, 2, 3, 4, 7, 33}) {
      check_layer(format, Shape{rows, 96}, 13, rows % 2 == 0);
    }
    check_layer(format, Shape{1, 32}, 1, true);
    check_layer(format, Shape{2, 5, 576}, 66, false);
    check_layer(format, Shape{1, 2048}, 515, false);
    check_layer(format, Shape{70, 4096}, 5, true);  // more rows than stay in the cache
  }
}

/// The largest integers, and x that is rounded to the largest.
TEST(BlockLinear, KeepsTheLargestSums) {
  for (const BlockFormat format : block_formats) {
    const std::int64_t in = whole_blocks(format, 64), each = block_bytes(format);
    HostTensor blocks = random_blocks(format, Shape{9, in}, 1);
    for (std::size_t i = 0; i < blocks.values.size(); ++i) {
      const auto at = static_cast<std::int64_t>(i) % each;
      const bool is_scale = format == BlockFormat::q6_k
                                ? at >= each - 2
                                : at < (format == BlockFormat::q4_1 || !is_rounded(format) ? 4 : 2);
      if (!is_scale) blocks.values[i] = format == BlockFormat::q8_0 ? 0x7f : 0xff;
    }
    const HostTensor x = tensor(DType::f32, Shape{2, in}, std::vector<double>(static_cast<std::size_t>(2 * in), 1));
    const std::vector<double> expected = block_linear_reference(format, {x, blocks, absent_tensor()})[0];
    std::vector<HostTensor> inputs{x, blocks};
    const HostTensor y = run_op(std::make_shared<BlockLinear>(BlockAttributes{format}), inputs)[0];
    expect_close(y.values, expected, 1e-5, std::string(enum_name(format)));
  }
}

/// 8-bit integers of the largest magnitudes, whose products would not fit into 16 bits with another sign.
TEST(BlockLinear, DoesNotSaturate) {
  HostTensor blocks = random_blocks(BlockFormat::q8_0, Shape{4, 64}, 1);
  for (std::size_t i = 0; i < blocks.values.size(); ++i) {
    const std::size_t at = i % 34;
    blocks.values[i] = at == 0 ? 0 : at == 1 ? 0x3c : 0x80;  // scale 1, then -128
  }
  std::vector<HostTensor> inputs{tensor(DType::f32, Shape{1, 64}, std::vector<double>(64, -1)), blocks};
  const auto op = std::make_shared<BlockLinear>(BlockAttributes{BlockFormat::q8_0});
  expect_close(run_op(op, inputs)[0].values, std::vector<double>(4, 64 * 128), 1e-6, "y");
}

/// Each element of x moves by at most half of its block's step, largest / 127.
TEST(BlockLinear, StaysWithinTheRoundingOfItsInput) {
  for (const BlockFormat format : block_formats) {
    std::vector<HostTensor> inputs{random_tensor(DType::f32, Shape{3, 256}, 1, -2, 2),
                                   random_blocks(format, Shape{20, 256}, 2)};
    const HostTensor weights = from_blocks(format, inputs[1]);
    const std::vector<double> exact = linear_reference({inputs[0], weights}, Activation::none)[0];
    const std::vector<double> actual = run_op(std::make_shared<BlockLinear>(BlockAttributes{format}), inputs)[0].values;
    for (std::size_t i = 0; i < exact.size(); ++i) {
      double bound = 1e-6;
      for (std::size_t k = 0; k < 256; ++k) bound += 2.0 / 254 * std::abs(weights.values[i % 20 * 256 + k]);
      EXPECT_LE(std::abs(actual[i] - exact[i]), bound) << enum_name(format);
    }
  }
}

TEST(BlockLinear, ComputesARowAlikeWhateverIsBesideIt) {
  for (const BlockFormat format : block_formats) {
    const auto op = std::make_shared<BlockLinear>(BlockAttributes{format});
    const std::int64_t in = whole_blocks(format, 288);
    std::vector<HostTensor> inputs{random_tensor(DType::f32, Shape{37, in}, 1),
                                   random_blocks(format, Shape{21, in}, 2)};
    const std::vector<double> together = run_op(op, inputs)[0].values;
    for (std::ptrdiff_t row = 0; row < 37; ++row) {
      const auto first = inputs[0].values.begin() + row * in;
      std::vector<HostTensor> alone{tensor(DType::f32, Shape{1, in}, {first, first + in}), inputs[1]};
      const std::vector<double> expected(together.begin() + row * 21, together.begin() + (row + 1) * 21);
      EXPECT_EQ(run_op(op, alone)[0].values, expected) << enum_name(format) << ", row " << row;
    }
  }
}

TEST(BlockLinear, ShowsValuesThatAreNotFinite) {
  for (const double bad : {std::numeric_limits<double>::quiet_NaN(), std::numeric_limits<double>::infinity()}) {
    std::vector<HostTensor> inputs{random_tensor(DType::f32, Shape{2, 64}, 1),
                                   random_blocks(BlockFormat::q4_0, Shape{5, 64}, 2)};
    inputs[0].values[40] = bad;
    const auto op = std::make_shared<BlockLinear>(BlockAttributes{BlockFormat::q4_0});
    const std::vector<double> y = run_op(op, inputs)[0].values;
    for (std::size_t i = 0; i < y.size(); ++i) EXPECT_EQ(std::isfinite(y[i]), i >= 5) << i << " is " << y[i];
  }
}

TEST(BlockLinear, RefusesWhatDoesNotFit) {
  const auto infer = [](TensorDesc x, TensorDesc w) {
    return BlockLinear({BlockFormat::q4_0}).infer(std::vector<TensorDesc>{std::move(x), std::move(w)});
  };
  EXPECT_EQ(infer({DType::f32, Shape{2, 64}}, {DType::u8, Shape{3, 36}}).front(),
            (TensorDesc{DType::f32, Shape{2, 3}}));
  EXPECT_THROW(infer({DType::f32, Shape{2, 64}}, {DType::u8, Shape{3, 34}}), std::invalid_argument);
  EXPECT_THROW(infer({DType::f32, Shape{2, 48}}, {DType::u8, Shape{3, 36}}), std::invalid_argument);
  EXPECT_THROW(infer({DType::bf16, Shape{2, 64}}, {DType::u8, Shape{3, 36}}), std::invalid_argument);
  EXPECT_THROW(infer({DType::f32, Shape{2, 64}}, {DType::s8, Shape{3, 36}}), std::invalid_argument);
}

/// As if x were not rounded.
TEST(BlockLinear, HandsXTheGradientOfTheWeightsThatItsBlocksStandFor) {
  for (const BlockFormat format : block_formats) {
    const std::int64_t in = whole_blocks(format, 96);
    OpCase c;
    c.op = std::make_shared<BlockLinear>(BlockAttributes{format});
    c.inputs = {random_tensor(DType::f32, Shape{5, in}, 1), random_blocks(format, Shape{13, in}, 2)};
    c.gradient_inputs = {BlockLinear::x};
    const HostTensor dy = random_tensor(DType::f32, Shape{5, 13}, 3);
    expect_close(run_gradient(c, {dy})[0].values, block_linear_grad_input_reference(format, {dy, c.inputs[1]})[0], 1e-5,
                 std::string(enum_name(format)));
  }
}

/// Rows and columns that fill tiles, leave some over, or are fewer than a tile's.
TEST(BlockLinearGradInput, MatchesTheReferenceOfEveryFormat) {
  const auto check = [](BlockFormat format, const Shape& dy, std::int64_t in) {
    OpCase c;
    c.op = std::make_shared<BlockLinearGradInput>(BlockAttributes{format});
    c.inputs = {random_tensor(DType::f32, dy, 1, -3, 3),
                random_blocks(format, Shape{dy[-1], whole_blocks(format, in)}, 2)};
    c.reference = [format](const std::vector<HostTensor>& inputs) {
      return block_linear_grad_input_reference(format, inputs);
    };
    check_op(c);
  };
  for (const BlockFormat format : block_formats) {
    SCOPED_TRACE(enum_name(format));
    check(format, Shape{1, 1}, 32);
    check(format, Shape{7, 13}, 96);
    check(format, Shape{2, 5, 64}, 576);
    check(format, Shape{33, 200}, 288);
  }
}

TEST(BlockLinearGradInput, RefusesWhatDoesNotFit) {
  const auto infer = [](TensorDesc dy, TensorDesc w) {
    return BlockLinearGradInput({BlockFormat::q4_0}).infer(std::vector<TensorDesc>{std::move(dy), std::move(w)});
  };
  EXPECT_EQ(infer({DType::f32, Shape{2, 3}}, {DType::u8, Shape{3, 36}}).front(),
            (TensorDesc{DType::f32, Shape{2, 64}}));
  EXPECT_THROW(infer({DType::f32, Shape{2, 4}}, {DType::u8, Shape{3, 36}}), std::invalid_argument);
  EXPECT_THROW(infer({DType::bf16, Shape{2, 3}}, {DType::u8, Shape{3, 36}}), std::invalid_argument);
}

TEST(BlockEmbedding, DequantizesTheRowsThatAreRead) {
  for (const BlockFormat format : block_formats) {
    const std::int64_t in = whole_blocks(format, 64);
    std::vector<HostTensor> inputs{tensor(DType::i32, Shape{2, 3}, {4, 0, 4, 4, 2, 0}),
                                   random_blocks(format, Shape{6, in}, 1)};
    const HostTensor table = from_blocks(format, inputs[1]);
    std::vector<double> expected;
    for (const double id : inputs[0].values) {
      const auto row = table.values.begin() + static_cast<std::ptrdiff_t>(id) * in;
      expected.insert(expected.end(), row, row + in);
    }
    const HostTensor y = run_op(std::make_shared<BlockEmbedding>(BlockAttributes{format}), inputs)[0];
    EXPECT_EQ(y.values, expected) << enum_name(format);
    EXPECT_EQ(y.desc, (TensorDesc{DType::f32, Shape{2, 3, in}}));
  }
}

}  // namespace block_linear_test
}  // namespace ptrain::testing

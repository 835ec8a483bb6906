// Keys and values in 8 bits.
#include "core/ops/require.h"
#include "tests/ops/reference/cached_attention.h"

#include <gtest/gtest.h>

#include <cstring>

namespace ptrain::testing {
namespace cache_of_8_bits_test {

using namespace cached_attention_test;

std::size_t count_channels(const Shape& shape) { return static_cast<std::size_t>(shape[-1]); }

/// The bytes of rows of values as multiples of a step for each row, which stands after them.
HostTensor to_8_bits(const HostTensor& rows) {
  const std::size_t depth = count_channels(rows.desc.shape);
  std::vector<double> bytes;
  for (std::size_t first = 0; first < rows.values.size(); first += depth) {
    float largest = 0;
    for (std::size_t d = 0; d < depth; ++d) {
      largest = std::max(largest, std::abs(static_cast<float>(rows.values[first + d])));
    }
    for (std::size_t d = 0; d < depth; ++d) {
      const float inverse = largest > 0 ? 127 / largest : 0;
      bytes.push_back(std::nearbyint(static_cast<float>(rows.values[first + d]) * inverse));
    }
    const float step = largest / 127;
    std::int8_t parts[cache_step_bytes];
    std::memcpy(parts, &step, sizeof step);
    bytes.insert(bytes.end(), std::begin(parts), std::end(parts));
  }
  const Shape shape = with_last(rows.desc.shape, rows.desc.shape[-1] + cache_step_bytes);
  return tensor(DType::s8, shape, std::move(bytes));
}

/// The values that such rows stand for.
HostTensor from_8_bits(const HostTensor& rows) {
  const std::size_t stride = count_channels(rows.desc.shape), depth = stride - cache_step_bytes;
  std::vector<double> values;
  for (std::size_t first = 0; first < rows.values.size(); first += stride) {
    std::int8_t parts[cache_step_bytes];
    for (std::size_t i = 0; i < cache_step_bytes; ++i) {
      parts[i] = static_cast<std::int8_t>(rows.values[first + depth + i]);
    }
    float step;
    std::memcpy(&step, parts, sizeof step);
    for (std::size_t d = 0; d < depth; ++d) values.push_back(rows.values[first + d] * double{step});
  }
  const Shape shape = with_last(rows.desc.shape, static_cast<std::int64_t>(depth));
  return tensor(DType::f32, shape, std::move(values));
}

std::vector<HostTensor> make_8_bit_inputs(const Problem& p, DType dtype) {
  std::vector<HostTensor> inputs = make_inputs(p, dtype, DType::f32);
  for (const Input cache : {Input::keys, Input::values}) inputs[cache] = to_8_bits(inputs[cache]);
  return inputs;
}

/// What they hold besides stays as it is, to the last bit.
TEST(CacheOf8Bits, GetsMultiplesOfAStepForEachHead) {
  for (const DType dtype : {DType::f32, DType::bf16}) {
    std::vector<HostTensor> inputs = make_8_bit_inputs(texts, dtype);
    std::vector<double> expected[]{inputs[Input::keys].values, inputs[Input::values].values};
    for_tokens(texts, [&](std::size_t token, std::size_t slot, std::size_t position) {
      for (std::size_t part = 0; part < 2; ++part)
        for (std::size_t h = 0; h < 2; ++h) {
          const auto first =
              inputs[Input::qkv].values.begin() + static_cast<std::ptrdiff_t>(token * 160 + 96 + (part * 2 + h) * 16);
          const HostTensor row = to_8_bits(tensor(DType::f32, Shape{1, 16}, {first, first + 16}));
          const std::size_t to = ((slot * 2 + h) * 300 + position) * 20;
          std::copy(row.values.begin(), row.values.end(), expected[part].begin() + static_cast<std::ptrdiff_t>(to));
        }
    });
    run_op(std::make_shared<AppendCache>(texts.attributes), inputs);
    EXPECT_EQ(inputs[Input::keys].values, expected[0]);
    EXPECT_EQ(inputs[Input::values].values, expected[1]);
  }
}

TEST(CacheOf8Bits, CopiesStepsToo) {
  const Problem beams{{2, 2}, 16, 20, {0, 1, 2}, {4, 4, 7}, {1, 1, 1}};
  std::vector<HostTensor> inputs = make_8_bit_inputs(beams, DType::f32), plain = inputs;
  constexpr std::ptrdiff_t head = 20 * 20;
  for (const Input cache : {Input::keys, Input::values}) {  // as if slot 1 had the past of slot 0
    for (const std::ptrdiff_t h : {0, 1}) {
      const auto first = plain[cache].values.begin() + h * head;
      std::copy_n(first, 4 * 20, first + 2 * head);
    }
  }
  inputs.push_back(tensor(DType::i32, Shape{3}, {0, 0, 2}));
  run_op(std::make_shared<AppendCache>(beams.attributes), inputs);
  run_op(std::make_shared<AppendCache>(beams.attributes), plain);
  EXPECT_EQ(inputs[Input::keys].values, plain[Input::keys].values);
  EXPECT_EQ(inputs[Input::values].values, plain[Input::values].values);
}

TEST(CacheOf8Bits, IsReadAsTheValuesThatItStandsFor) {
  const Problem other{{3, 3}, 21, 130, {0, 1, 2}, {0, 126, 0}, {1, 3, 130}};  // 21 channels, lengths around a chunk
  for (const Problem& p : {texts, other}) {
    for (const DType dtype : {DType::f32, DType::bf16}) {
      check_op({.op = std::make_shared<CachedAttention>(p.attributes),
                .inputs = make_8_bit_inputs(p, dtype),
                .reference = [&](std::vector<HostTensor> in) {
                  for (const Input cache : {Input::keys, Input::values}) in[cache] = from_8_bits(in[cache]);
                  return std::vector<std::vector<double>>{attend(p, in)};
                }});
    }
  }
}

TEST(CacheOf8Bits, ShowsValuesThatAreNotFinite) {
  for (const double bad : {std::nan(""), HUGE_VAL}) {
    std::vector<HostTensor> inputs = make_8_bit_inputs(texts, DType::f32);
    inputs[Input::qkv].values[96 + 5] = bad;  // a key of the first text
    run_op(std::make_shared<AppendCache>(texts.attributes), inputs);
    const std::vector<double> out = run_op(std::make_shared<CachedAttention>(texts.attributes), inputs)[0].values;
    EXPECT_TRUE(std::isnan(out[0])) << bad;
    EXPECT_TRUE(std::isfinite(out[96])) << "another text's";
  }
}

TEST(CacheOf8Bits, RefusesRowsOfOtherLengths) {
  std::vector<TensorDesc> descs;
  for (const HostTensor& input : make_8_bit_inputs(texts, DType::f32)) descs.push_back(input.desc);
  EXPECT_NO_THROW(CachedAttention(texts.attributes).infer(descs));
  for (const Input cache : {Input::keys, Input::values}) descs[cache].shape = with_last(descs[cache].shape, 16);
  EXPECT_THROW(CachedAttention(texts.attributes).infer(descs), std::invalid_argument);
}

}  // namespace cache_of_8_bits_test
}  // namespace ptrain::testing

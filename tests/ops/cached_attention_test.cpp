#include "core/ops/text/cached_attention.h"

#include "tests/ops/reference/cached_attention.h"

#include <gtest/gtest.h>

#include <algorithm>

namespace ptrain::testing {
namespace cached_attention_test {

TEST(AppendCache, WritesKeysAndValuesAtTheirPositionsAndNothingElse) {
  for (const DType dtype : {DType::f32, DType::bf16, DType::f16}) {
    for (const DType cache_dtype : {DType::f32, DType::bf16}) {
      std::vector<HostTensor> inputs = make_inputs(texts, dtype, cache_dtype);
      std::vector<double> expected[]{inputs[Input::keys].values, inputs[Input::values].values};
      for_tokens(texts, [&](std::size_t token, std::size_t slot, std::size_t position) {
        for (std::size_t part = 0; part < 2; ++part)
          for (std::size_t h = 0; h < 2; ++h)
            for (std::size_t d = 0; d < 16; ++d) {
              const double value = inputs[Input::qkv].values[token * 160 + 96 + (part * 2 + h) * 16 + d];
              expected[part][((slot * 2 + h) * 300 + position) * 16 + d] = round_to(cache_dtype, value);
            }
      });
      const std::vector<HostTensor> outputs = run_op(std::make_shared<AppendCache>(texts.attributes), inputs);
      EXPECT_EQ(outputs[0].values, inputs[Input::qkv].values);
      EXPECT_EQ(inputs[Input::keys].values, expected[0]);
      EXPECT_EQ(inputs[Input::values].values, expected[1]);
    }
  }
}

TEST(AppendCache, TakesKeysAndValuesWithoutQueries) {
  std::vector<HostTensor> inputs = make_inputs(texts, DType::f32, DType::f32), alone = inputs;
  const auto tokens = static_cast<std::size_t>(inputs[Input::qkv].desc.shape[0]);
  alone[Input::qkv] =
      tensor(DType::f32, Shape{static_cast<std::int64_t>(tokens), 64}, std::vector<double>(tokens * 64));
  for (std::size_t t = 0; t < tokens; ++t) {
    std::copy_n(inputs[Input::qkv].values.begin() + static_cast<std::ptrdiff_t>(t * 160 + 96), 64,
                alone[Input::qkv].values.begin() + static_cast<std::ptrdiff_t>(t * 64));
  }
  run_op(std::make_shared<AppendCache>(texts.attributes), inputs);
  run_op(std::make_shared<AppendCache>(texts.attributes), alone);
  EXPECT_EQ(alone[Input::keys].values, inputs[Input::keys].values);
  EXPECT_EQ(alone[Input::values].values, inputs[Input::values].values);
}

/// As beams of a search do that continue another beam.
TEST(AppendCache, CopiesThePastOfAnotherSlotBefore) {
  const Problem beams{{2, 2}, 16, 20, {0, 1, 2}, {4, 4, 7}, {1, 1, 1}};
  for (const DType cache_dtype : {DType::f32, DType::bf16}) {
    std::vector<HostTensor> inputs = make_inputs(beams, DType::f32, cache_dtype), plain = inputs;
    const auto op = std::make_shared<AppendCache>(beams.attributes);
    const auto at = [](std::size_t slot) { return static_cast<std::ptrdiff_t>(slot * 2 * 20 * 16); };
    for (const Input cache : {Input::keys, Input::values}) {  // as if slot 1 had the past of slot 0
      for (const std::size_t head : {0, 1}) {
        const auto offset = static_cast<std::ptrdiff_t>(head * 20 * 16);
        const auto first = plain[cache].values.begin() + at(0) + offset;
        std::copy_n(first, 4 * 16, plain[cache].values.begin() + at(1) + offset);
      }
    }
    inputs.push_back(tensor(DType::i32, Shape{3}, {0, 0, 2}));
    run_op(op, inputs);
    run_op(op, plain);
    EXPECT_EQ(inputs[Input::keys].values, plain[Input::keys].values);
    EXPECT_EQ(inputs[Input::values].values, plain[Input::values].values);
  }
}

void check(const Problem& p, DType dtype, DType cache_dtype) {
  check_op({.op = std::make_shared<CachedAttention>(p.attributes),
            .inputs = make_inputs(p, dtype, cache_dtype),
            .reference = [&](const auto& in) { return std::vector<std::vector<double>>{attend(p, in)}; }});
}

TEST(CachedAttention, AgreesWithReferenceInEveryDtype) {
  for (const DType dtype : {DType::f32, DType::bf16, DType::f16}) {
    for (const DType cache_dtype : {DType::f32, DType::bf16, DType::f16}) check(texts, dtype, cache_dtype);
  }
}

/// As of a decoder whose keys are an encoder's.
TEST(CachedAttention, TakesQueriesAlone) {
  std::vector<HostTensor> inputs = make_inputs(texts, DType::f32, DType::f32), alone = inputs;
  const auto tokens = static_cast<std::size_t>(inputs[Input::qkv].desc.shape[0]);
  alone[Input::qkv] =
      tensor(DType::f32, Shape{static_cast<std::int64_t>(tokens), 96}, std::vector<double>(tokens * 96));
  for (std::size_t t = 0; t < tokens; ++t) {
    std::copy_n(inputs[Input::qkv].values.begin() + static_cast<std::ptrdiff_t>(t * 160), 96,
                alone[Input::qkv].values.begin() + static_cast<std::ptrdiff_t>(t * 96));
  }
  const auto op = std::make_shared<CachedAttention>(texts.attributes);
  EXPECT_EQ(run_op(op, alone)[0].values, run_op(op, inputs)[0].values);
}

TEST(CachedAttention, TakesHeadsOfAnyDepthAndLengthsAroundTheChunks) {
  check({{3, 3}, 21, 130, {0, 1, 2}, {0, 126, 0}, {1, 3, 130}}, DType::f32, DType::f32);
  check({{9, 3}, 64, 385, {0, 1, 2}, {127, 255, 383}, {2, 1, 2}}, DType::bf16, DType::bf16);
}

/// Other texts of the batch, and how many, change no bit.
TEST(CachedAttention, DoesNotDependOnTheBatch) {
  std::vector<HostTensor> inputs = make_inputs(texts, DType::f32, DType::f32);
  const auto op = std::make_shared<CachedAttention>(texts.attributes);
  const std::vector<double> all = run_op(op, inputs)[0].values;
  std::vector<HostTensor> alone = inputs;
  alone[Input::slots] = tensor(DType::i32, Shape{1}, {2});
  alone[Input::offsets] = get_offsets({1});
  alone[Input::past] = tensor(DType::i32, Shape{1}, {290});
  const std::vector<double> one = run_op(op, alone)[0].values;
  EXPECT_TRUE(std::equal(all.begin(), all.begin() + 96, one.begin()));
  EXPECT_EQ(std::count(one.begin() + 96, one.end(), 0.0), static_cast<std::ptrdiff_t>(one.size()) - 96);
}

TEST(CachedAttention, RefusesACacheOfOtherHeads) {
  std::vector<TensorDesc> descs;
  for (const HostTensor& input : make_inputs(texts, DType::f32, DType::f32)) descs.push_back(input.desc);
  EXPECT_NO_THROW(CachedAttention({6, 2}).infer(descs));
  EXPECT_THROW(CachedAttention({8, 1}).infer(descs), std::invalid_argument);
  descs[Input::slots] = {DType::i32, Shape{3}};
  EXPECT_THROW(CachedAttention({6, 2}).infer(descs), std::invalid_argument);
}

}  // namespace cached_attention_test
}  // namespace ptrain::testing

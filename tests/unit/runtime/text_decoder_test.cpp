// With a cache a language model answers as it does without.
#include "core/runtime/decoding/text_decoder.h"

#include "core/base/rng.h"
#include "core/data/tensor_names.h"
#include "core/runtime/weights.h"
#include "models/text/gpt2.h"
#include "models/text/llama.h"
#include "tests/disturbed_weights.h"
#include "tests/small_models.h"
#include "tests/temporary_directory.h"
#include "tests/test_backend.h"

#include <gtest/gtest.h>

#include <cmath>

namespace ptrain {
namespace {

using testing::get_floats;

constexpr std::int64_t max_length = 300, vocabulary = 100;  // more than a chunk of the cache

std::unique_ptr<Model> make_tiny_llama(LlamaForm form) {
  LlamaSpec spec = llama_spec_of_size(form, "tiny");
  spec.vocab_size = vocabulary;
  spec.max_length = max_length;
  spec.tied = form != LlamaForm::qwen2;
  return make_llama(spec);
}

std::unique_ptr<Model> make_tiny_gpt2() {
  Gpt2Spec spec = gpt2_spec_of_size("tiny");
  spec.vocab_size = vocabulary;
  spec.max_length = max_length;
  return make_gpt2(spec);
}

using Ids = std::vector<std::int32_t>;

Ids random_ids(std::size_t count, std::uint64_t seed) {
  Ids ids(count);
  const RandomStream random{seed, 0, 1};
  for (std::size_t i = 0; i < count; ++i) ids[i] = static_cast<std::int32_t>(random.bits(i) % vocabulary);
  return ids;
}

class Decoding : public ::testing::Test {
 protected:
  void write_weights(const Model& model) {
    Variables variables(backend_->memory());
    variables.declare(model.build(1, Mode::evaluation));
    variables.allocate();
    testing::disturb(model, variables);
    save_weights(file_, model, variables, 1);
  }

  DeployOptions options(std::int64_t texts, AmpLevel level) const {
    DeployOptions options;
    options.batch_size = texts;
    options.max_length = max_length;
    options.amp.level = level;
    options.kernels.exhaustive_search = false;
    return options;
  }

  /// The scores after each text, each computed alone from all its tokens.
  std::vector<float> answer_anew(DeployedModel& model, const std::vector<Ids>& texts) {
    std::vector<float> scores;
    for (const Ids& ids : texts) {
      Batch batch;
      batch.add(tensor_names::ids, {static_cast<std::int64_t>(ids.size())}, ids);
      batch.add(tensor_names::token_types, {static_cast<std::int64_t>(ids.size())}, Ids(ids.size()));
      batch.add(tensor_names::lengths, {}, Ids{static_cast<std::int32_t>(ids.size())});
      batch.count = 1;
      const std::vector<float> one = get_floats(model.run(batch).at(tensor_names::logits));
      scores.insert(scores.end(), one.begin(), one.end());
    }
    return scores;
  }

  static void expect_close(const std::vector<float>& actual, const std::vector<float>& expected, double limit) {
    ASSERT_EQ(actual.size(), expected.size());
    double worst = 0, largest = 0;
    for (std::size_t i = 0; i < actual.size(); ++i) {
      worst = std::max(worst, std::abs(static_cast<double>(actual[i]) - static_cast<double>(expected[i])));
      largest = std::max(largest, std::abs(static_cast<double>(expected[i])));
    }
    EXPECT_GT(largest, 0);
    EXPECT_LE(worst, limit * largest);
  }

  /// Reads texts of different lengths, then one token of each at a time, then several of one, then a new text where
  /// another was; the scores are those of whole texts each time.
  void check(const Model& model, AmpLevel level, DType cache, double limit, const BlockFormats& blocks = {}) {
    write_weights(model);
    const std::unique_ptr<Task> task = testing::get_task(model);
    DeployOptions whole_texts = options(1, level), cached = options(3, level);
    whole_texts.block_weights = cached.block_weights = blocks;
    DeployedModel plain(*backend_, model, *task, file_, whole_texts);
    cached.cache = CacheOptions{max_length, cache};
    TextDecoder decoder(*backend_, model, *task, file_, cached);
    std::vector<Ids> texts{random_ids(7, 1), random_ids(1, 2), random_ids(126, 3)};
    const auto append = [&](const std::vector<std::size_t>& which) {
      std::vector<NewTokens> more;
      std::vector<Ids> whole;
      for (const std::size_t i : which) {
        const auto slot = static_cast<std::int64_t>(i);
        more.push_back({slot, std::span(texts[i]).subspan(static_cast<std::size_t>(decoder.length(slot)))});
        whole.push_back(texts[i]);
      }
      expect_close(get_floats(decoder.append(more).at(tensor_names::logits)), answer_anew(plain, whole), limit);
    };
    append({0, 1, 2});
    for (std::uint64_t step = 0; step < 4; ++step) {
      for (Ids& ids : texts) ids.push_back(random_ids(1, 10 + step)[0]);
      append({2, 0, 1});
    }
    for (const std::int32_t id : random_ids(20, 20)) texts[1].push_back(id);
    append({1});
    texts[0] = random_ids(4, 30);
    decoder.clear(0);
    texts[1].push_back(7);
    append({1, 0});
  }

  /// Writes the weights that those of the file stand for once matrices are in blocks.
  std::filesystem::path write_rounded(const Model& model, BlockFormat format) {
    Variables variables(backend_->memory());
    variables.declare(model.build(1, Mode::evaluation));
    variables.allocate();
    load_weights(file_, model, variables);
    for (const auto& [name, entry] : variables.entries()) {
      const Shape& shape = entry.desc.shape;
      if (shape.rank() != 2 || name.find("wpe") != std::string::npos) continue;  // positions are no layer's
      std::vector<float> values = variables.read_f32(name);
      std::vector<std::byte> blocks(static_cast<std::size_t>(bytes_in_blocks(format, shape.count())));
      quantize_blocks(format, values, blocks);
      dequantize_blocks(format, blocks, values);
      variables.write(name, values.data(), values.size() * sizeof(float));
    }
    save_weights(directory_ / "rounded.safetensors", model, variables, 1);
    return directory_ / "rounded.safetensors";
  }

  std::unique_ptr<Backend> backend_ = testing::make_test_backend();
  const TemporaryDirectory directory_;
  const std::filesystem::path file_ = directory_ / "model.safetensors";
};

TEST_F(Decoding, AnswersAsWholeTextsDo) {
  for (const LlamaForm form : {LlamaForm::llama, LlamaForm::qwen2, LlamaForm::qwen3}) {
    check(*make_tiny_llama(form), AmpLevel::O0, DType::f32, 1e-5);
  }
  check(*make_tiny_gpt2(), AmpLevel::O0, DType::f32, 1e-5);
}

TEST_F(Decoding, AnswersAlikeInLowPrecision) {
  check(*make_tiny_llama(LlamaForm::llama), AmpLevel::O0, DType::bf16, 0.02);
  check(*make_tiny_llama(LlamaForm::qwen3), AmpLevel::O1, DType::bf16, 0.05);
  check(*make_tiny_gpt2(), AmpLevel::O2, DType::bf16, 0.05);
}

/// A head's keys and values are rounded to a 127th of their largest.
TEST_F(Decoding, AnswersAlikeFromACacheOf8Bits) {
  for (const LlamaForm form : {LlamaForm::llama, LlamaForm::qwen3}) {
    check(*make_tiny_llama(form), AmpLevel::O0, DType::s8, 0.02);
  }
  check(*make_tiny_llama(LlamaForm::llama), AmpLevel::O1, DType::s8, 0.05);
  check(*make_tiny_gpt2(), AmpLevel::O0, DType::s8, 0.02);
}

TEST_F(Decoding, ACacheOf8BitsHasAByteForAValueAndAStepForAHead) {
  const auto model = make_tiny_llama(LlamaForm::llama);
  write_weights(*model);
  const std::unique_ptr<Task> task = testing::get_task(*model);
  const auto count_cache_bytes = [&](DType dtype) {
    DeployOptions cached = options(3, AmpLevel::O0);
    cached.cache = CacheOptions{max_length, dtype};
    TextDecoder decoder(*backend_, *model, *task, file_, cached);
    std::size_t bytes = 0;
    for (const auto& [name, entry] : decoder.model().variables().entries()) {
      if (entry.storage == Storage::state) bytes += entry.desc.bytes();
    }
    return bytes;
  };
  constexpr std::size_t depth = 64;
  EXPECT_EQ(count_cache_bytes(DType::s8) * depth * sizeof(float),
            count_cache_bytes(DType::f32) * (depth + sizeof(float)));
}

BlockFormats all_in(BlockFormat format) {
  return [format](std::string_view) { return std::optional(format); };
}

/// A layer rounds each 32 values of x to a 127th of their largest, which is 2.1 times their deviation as a rule: an
/// error of 2.1 / 127 / sqrt(12) = 0.5 % of the deviation, and so of its results'. Those of nine layers one after
/// another come to three times that, 1.5 %, and the worst of a hundred logits to as many deviations as the largest
/// logit.
TEST_F(Decoding, AnswersFromBlocksAsFromTheWeightsTheyStandFor) {
  const auto compare = [&](const Model& model, BlockFormat format) {
    SCOPED_TRACE(model.name() + " in " + std::string(enum_name(format)));
    write_weights(model);
    const std::unique_ptr<Task> task = testing::get_task(model);
    const std::vector<Ids> texts{random_ids(7, 1), random_ids(126, 3)};
    DeployedModel full(*backend_, model, *task, write_rounded(model, format), options(1, AmpLevel::O0));
    DeployOptions in_blocks = options(1, AmpLevel::O0);
    in_blocks.block_weights = all_in(format);
    DeployedModel blocks(*backend_, model, *task, file_, in_blocks);
    expect_close(answer_anew(blocks, texts), answer_anew(full, texts), 0.03);
  };
  for (const BlockFormat format : rounded_block_formats) {
    for (const LlamaForm form : {LlamaForm::llama, LlamaForm::qwen2}) compare(*make_tiny_llama(form), format);
  }
  compare(*make_tiny_gpt2(), BlockFormat::q8_0);  // whose lookups read the table in full
}

/// Sums of other attention kernels differ by fp32's rounding, which may move an integer of the next layer by one.
TEST_F(Decoding, AnswersFromBlocksAsWholeTextsDo) {
  check(*make_tiny_llama(LlamaForm::llama), AmpLevel::O0, DType::f32, 0.01, all_in(BlockFormat::q4_1));
  check(*make_tiny_llama(LlamaForm::qwen3), AmpLevel::O1, DType::bf16, 0.05, all_in(BlockFormat::q8_0));
}

TEST_F(Decoding, KeepsNothingButBlocks) {
  const auto model = make_tiny_llama(LlamaForm::llama);
  write_weights(*model);
  const std::unique_ptr<Task> task = testing::get_task(*model);
  DeployOptions in_blocks = options(1, AmpLevel::O0);
  DeployedModel full(*backend_, *model, *task, file_, in_blocks);
  in_blocks.block_weights = all_in(BlockFormat::q4_0);
  DeployedModel blocks(*backend_, *model, *task, file_, in_blocks);
  const double share = static_cast<double>(blocks.variables().bytes()) / static_cast<double>(full.variables().bytes());
  EXPECT_NEAR(share, 18.0 / (32 * 4), 0.005) << "norms are the rest";
}

TEST_F(Decoding, RefusesATextLongerThanItsCache) {
  const auto model = make_tiny_llama(LlamaForm::llama);
  write_weights(*model);
  const std::unique_ptr<Task> task = testing::get_task(*model);
  DeployOptions cached = options(1, AmpLevel::O0);
  cached.cache = CacheOptions{.length = 8};
  TextDecoder decoder(*backend_, *model, *task, file_, cached);
  const Ids ids = random_ids(9, 1);
  EXPECT_NO_THROW(decoder.append(std::vector{NewTokens{0, std::span(ids).first(8)}}));
  EXPECT_THROW(decoder.append(std::vector{NewTokens{0, std::span(ids).last(1)}}), std::logic_error);
}

}  // namespace
}  // namespace ptrain

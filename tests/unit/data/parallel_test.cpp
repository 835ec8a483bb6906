// Parallel text, and vocabularies learnt from it against the package tokenizers'
// (tests/golden/make_translation_golden.py).
#include "core/data/factory.h"
#include "core/data/tensor_names.h"
#include "core/data/text/learn_bpe.h"
#include "core/data/text/tokenizer.h"
#include "core/io/atomic_file.h"
#include "tests/error_message.h"
#include "tests/temporary_directory.h"

#include <gtest/gtest.h>

namespace ptrain {
namespace {

using Ids = std::vector<std::int32_t>;

nlohmann::json read_golden() {
  return nlohmann::json::parse(read_file(PTRAIN_SOURCE_DIR "/tests/golden/translation.json")).at("vocabulary");
}

TEST(LearnByteBpe, GivesTheVocabularyOfTokenizers) {
  const nlohmann::json golden = read_golden();
  const nlohmann::json learnt = learn_byte_bpe(golden.at("text").get<std::string>(), golden.at("size").get<int>());
  EXPECT_EQ(learnt.at("model").at("merges"), golden.at("merges"));
  EXPECT_EQ(learnt.at("model").at("vocab"), golden.at("vocab"));
  const TemporaryDirectory folder;
  write_file_atomic(folder / "tokenizer.json", learnt.dump());
  const std::unique_ptr<Tokenizer> tokenizer = open_tokenizer(folder / "tokenizer.json", TextCase::keep);
  EXPECT_EQ(tokenizer->end_id(), 0);
  for (const nlohmann::json& one : golden.at("encoded")) {
    Ids ids;
    tokenizer->tokenize(one.at("text").get<std::string>(), ids);
    EXPECT_EQ(ids, one.at("ids").get<Ids>());
    EXPECT_EQ(tokenizer->decode(ids), one.at("decoded").get<std::string>());
    EXPECT_EQ(tokenizer->decode(ids), one.at("text").get<std::string>());
  }
}

TEST(LearnByteBpe, EndsWherePairsOccurOnce) {
  const nlohmann::json learnt = learn_byte_bpe("ab ab\ncd\n", 1000);
  EXPECT_EQ(learnt.at("model").at("merges").size(), 2u);  // " a" and " ab"
  EXPECT_NE(get_error([] { learn_byte_bpe("", 100); }, ExitCode::usage).find("at least 258"), std::string::npos);
}

class ParallelText : public ::testing::Test {
 protected:
  void SetUp() override {
    write_file_atomic(folder_ / "tokenizer.json", learn_byte_bpe("ein hund\na dog\n", 258).dump());
    settings_.source = "parallel";
    settings_.path = folder_.path().string();
    settings_.train_file = "train";
    settings_.dev_file = "val";
    settings_.languages = {"de", "en"};
    settings_.max_length = 8;
    settings_.vocab_path = (folder_ / "tokenizer.json").string();
  }
  std::unique_ptr<Dataset> open(const std::string& source, const std::string& target, Split split = Split::train) {
    const std::string name = split == Split::train ? "train" : "val";
    write_file_atomic(folder_ / (name + ".de"), source);
    write_file_atomic(folder_ / (name + ".en"), target);
    return open_dataset(settings_, split);
  }
  static Ids load(const Dataset& data, std::int64_t index, const char* name) {
    Batch batch(data.tensors({}), 1);
    Scratch scratch;
    data.load(index, SampleRandom(0, 0, index), scratch, SampleRow(batch, 0));
    const auto values = batch.values<std::int32_t>(name);
    return {values.begin(), values.end()};
  }

  const TemporaryDirectory folder_;
  DataSettings settings_;
};

TEST_F(ParallelText, TheDecoderReadsTheTranslationAfterTheEndTokenAndPredictsItBeforeTheEndToken) {
  const auto data = open("ab\r\nc\n", "x\nyz");
  ASSERT_EQ(data->size(), 2);
  EXPECT_EQ(data->info().vocab_size, 258);
  const std::unique_ptr<Tokenizer> tokenizer = open_tokenizer(settings_.vocab_path, TextCase::keep);
  Ids source, target;
  tokenizer->tokenize("ab", source);
  tokenizer->tokenize("x", target);
  ASSERT_EQ(source.size(), 3u);  // with the space before
  ASSERT_EQ(target.size(), 2u);
  EXPECT_EQ(load(*data, 0, tensor_names::ids), (Ids{source[0], source[1], source[2], 0, 0, 0, 0, 0}));
  EXPECT_EQ(load(*data, 0, tensor_names::lengths), Ids{4});
  EXPECT_EQ(load(*data, 0, tensor_names::decoder_ids), (Ids{0, target[0], target[1], 0, 0, 0, 0, 0}));
  EXPECT_EQ(load(*data, 0, tensor_names::next_tokens), (Ids{target[0], target[1], 0, -1, -1, -1, -1, -1}));
  EXPECT_EQ(load(*data, 0, tensor_names::decoder_lengths), Ids{3});
  EXPECT_EQ(data->origin(1).line, 2);
  EXPECT_EQ(data->origin(0).text, "ab");
  EXPECT_EQ(data->origin(1).second, "yz");
}

TEST_F(ParallelText, LongPairsAreNotLearntButEvaluatedAndBlankOnesAreNeither) {
  const std::string source = "a\n\nabcdefgh\nb\n", target = "x\ny\nz\nabcdefghi\n";
  const auto train = open(source, target);
  EXPECT_EQ(train->size(), 1);
  ASSERT_EQ(train->notes().size(), 2u);
  EXPECT_NE(train->notes()[0].find("1 line left out"), std::string::npos) << train->notes()[0];
  EXPECT_NE(train->notes()[1].find("2 pairs are longer than data.max_length, 8 tokens: left out"), std::string::npos)
      << train->notes()[1];
  const auto eval = open(source, target, Split::eval);
  EXPECT_EQ(eval->size(), 3);
  EXPECT_EQ(load(*eval, 1, tensor_names::lengths), Ids{8});
  EXPECT_EQ(load(*eval, 1, tensor_names::ids).back(), 0);
  EXPECT_EQ(load(*eval, 2, tensor_names::next_tokens).back(), 0);
}

TEST_F(ParallelText, FilesOfDifferentLengthAndNoLanguagesAreRefused) {
  const std::string message = get_error([&] { open("a\nb\n", "x\n"); });
  EXPECT_NE(message.find("train.de: has 2 lines, but "), std::string::npos) << message;
  EXPECT_NE(message.find("train.en has 1"), std::string::npos) << message;
  EXPECT_NE(get_error([&] { open("\n", "x\n"); }).find("no sentence"), std::string::npos);
  settings_.languages = {"de"};
  EXPECT_NE(get_error([&] { open("a\n", "x\n"); }, ExitCode::usage).find("data.languages: expected"),
            std::string::npos);
}

TEST(SyntheticParallel, TranslatesBySayingItBackwards) {
  const DataSettings settings{
      .source = "synthetic", .synthetic_kind = DataKind::parallel, .max_length = 12, .synthetic_samples = 20};
  const auto data = open_dataset(settings, Split::train);
  Batch batch(data->tensors({}), 1);
  Scratch scratch;
  for (std::int64_t i = 0; i < data->size(); ++i) {
    data->load(i, SampleRandom(0, 0, i), scratch, SampleRow(batch, 0));
    const auto ids = batch.values<std::int32_t>(tensor_names::ids);
    const auto next = batch.values<std::int32_t>(tensor_names::next_tokens);
    const auto words = static_cast<std::size_t>(batch.values<std::int32_t>(tensor_names::lengths)[0]) - 1;
    for (std::size_t word = 0; word < words; ++word) EXPECT_EQ(next[word], ids[words - 1 - word]);
    EXPECT_EQ(next[words], ids[words]);
  }
}

}  // namespace
}  // namespace ptrain

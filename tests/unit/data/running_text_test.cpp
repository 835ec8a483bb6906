// Running text as blocks of tokens, and made-up ones.
#include "core/data/factory.h"
#include "core/data/tensor_names.h"
#include "core/data/text/byte_bpe.h"
#include "core/io/atomic_file.h"
#include "tests/error_message.h"
#include "tests/gpt2_vocabulary.h"
#include "tests/temporary_directory.h"

#include <gtest/gtest.h>
#include <nlohmann/json.hpp>

namespace ptrain {
namespace {

using Ids = std::vector<std::int32_t>;

Ids load_block(const Dataset& data, std::int64_t index) {
  Batch batch(data.tensors({}), 1);
  EXPECT_FALSE(batch.has(tensor_names::labels));
  std::ranges::fill(batch.values<std::int32_t>(tensor_names::token_types), -1);
  Scratch scratch;
  data.load(index, SampleRandom(0, 0, index), scratch, SampleRow(batch, 0));
  EXPECT_EQ(batch.values<std::int32_t>(tensor_names::lengths)[0], data.info().max_length);
  for (const std::int32_t type : batch.values<std::int32_t>(tensor_names::token_types)) EXPECT_EQ(type, 0);
  const auto ids = batch.values<std::int32_t>(tensor_names::ids);
  return {ids.begin(), ids.end()};
}

class RunningText : public ::testing::Test {
 protected:
  void SetUp() override {
    json_ = testing::write_gpt2_vocabulary(folder_.path());
    settings_.source = "text";
    settings_.path = folder_.path().string();
    settings_.train_file = "train.txt";
    settings_.dev_file = "dev.txt";
    settings_.max_length = 16;
    settings_.vocab_path = (folder_ / "vocab.json").string();
  }
  std::unique_ptr<Dataset> open(const std::string& text) {
    write_file_atomic(folder_ / "train.txt", text);
    return open_dataset(settings_, Split::train);
  }
  std::string refusal(const std::string& text, ExitCode code = ExitCode::failed) {
    return get_error([&] { open(text); }, code);
  }

  std::size_t get_tokens(const std::string& text) const {
    Ids ids;
    read_byte_bpe(json_["vocabulary"].dump(), json_["merges"].get<std::string>()).tokenize(text, ids);
    return ids.size();
  }

  const TemporaryDirectory folder_;
  nlohmann::json json_;
  DataSettings settings_;
};

TEST_F(RunningText, HasTheSameTokensWhicheverItsLineEnds) {
  std::string text, returns;
  for (int i = 0; i < 30; ++i) {
    text += "the line is good\n";
    returns += "the line is good\r\n";
  }
  EXPECT_EQ(open(text)->fingerprint(), open(returns)->fingerprint());
}

TEST_F(RunningText, WithBytesOfZeroIsRefusedByLine) {
  EXPECT_NE(refusal(std::string("a\nb\0c\n", 6)).find("train.txt:2: not a text file (byte 0x00)"), std::string::npos);
}

TEST_F(RunningText, IsTheLinesTokensOneBehindTheOtherInWholeBlocks) {
  std::string text;
  for (int i = 0; i < 4000; ++i) text += "the training of line " + std::to_string(i) + " is good\n\n";
  text += "and an end of no line";
  const std::unique_ptr<Dataset> data = open(text);  // longer than what is tokenised at once
  EXPECT_EQ(data->info().kind, DataKind::tokens);
  EXPECT_EQ(data->info().vocab_size, static_cast<int>(json_["vocabulary"].size()));
  const BpeTokenizer tokenizer = read_byte_bpe(json_["vocabulary"].dump(), json_["merges"].get<std::string>());
  Ids expected;
  std::istringstream lines(text);
  for (std::string line; std::getline(lines, line);) tokenizer.tokenize(lines.eof() ? line : line + "\n", expected);
  ASSERT_EQ(data->size(), static_cast<std::int64_t>(expected.size() / 16));
  ASSERT_NE(expected.size() % 16, 0u) << "some tokens are left out";
  Ids found;
  for (std::int64_t i = 0; i < data->size(); ++i) {
    const Ids block = load_block(*data, i);
    found.insert(found.end(), block.begin(), block.end());
  }
  expected.resize(found.size());
  EXPECT_EQ(found, expected);
}

TEST_F(RunningText, AByteOrderMarkIsNoPartOfIt) {
  std::string text;
  for (int i = 0; i < 20; ++i) text += "the training of line " + std::to_string(i) + "\n";
  const std::unique_ptr<Dataset> plain = open(text), marked = open("\xEF\xBB\xBF" + text);
  EXPECT_EQ(marked->size(), plain->size());
  EXPECT_EQ(load_block(*marked, 0), load_block(*plain, 0));
  EXPECT_EQ(marked->fingerprint(), plain->fingerprint());
}

TEST_F(RunningText, ShorterThanABlockIsRefused) {
  const std::string train = (folder_ / "train.txt").string();
  EXPECT_EQ(refusal("short"), train + ": has " + std::to_string(get_tokens("short")) +
                                  " tokens, fewer than one block of data.max_length 16: a longer text or shorter "
                                  "blocks are needed");
  EXPECT_NE(refusal("").find("has 0 tokens"), std::string::npos);
}

TEST_F(RunningText, AVocabularyThatIsNoneIsRefused) {
  write_file_atomic(folder_ / "vocab.json", "{\"a\": 0}");
  EXPECT_NE(refusal("text").find("not a byte-level BPE's vocabulary"), std::string::npos);
  settings_.vocab_path = (folder_ / "vocab.txt").string();
  EXPECT_NE(refusal("text", ExitCode::usage).find("data.vocab: "), std::string::npos);
}

TEST_F(RunningText, AFileThatIsMissingOrNotNamedIsRefused) {
  EXPECT_NE(get_error([&] { open_dataset(settings_, Split::eval); }).find("dev.txt"), std::string::npos);
  settings_.dev_file.clear();
  const std::string message = get_error([&] { open_dataset(settings_, Split::eval); }, ExitCode::usage);
  EXPECT_NE(message.find("data.dev_file: required"), std::string::npos) << message;
}

TEST(SyntheticTokens, FollowFromTheOneBeforeInThreeOfFour) {
  const DataSettings settings{
      .source = "synthetic", .synthetic_kind = DataKind::tokens, .max_length = 64, .synthetic_samples = 40};
  const auto train = open_dataset(settings, Split::train);
  const auto eval = open_dataset(settings, Split::eval);
  EXPECT_EQ(train->size(), 40);
  EXPECT_EQ(eval->size(), 10);
  EXPECT_EQ(train->info().vocab_size, 1000);
  EXPECT_EQ(load_block(*train, 3), load_block(*train, 3));
  EXPECT_NE(load_block(*train, 3), load_block(*train, 4));
  EXPECT_NE(load_block(*train, 3), load_block(*eval, 3));
  int follow = 0, all = 0;
  for (std::int64_t i = 0; i < train->size(); ++i) {
    const Ids block = load_block(*train, i);
    for (std::size_t t = 1; t < block.size(); ++t, ++all) {
      ASSERT_LT(block[t], 64);
      follow += block[t] == (5 * block[t - 1] + 17) % 64 ? 1 : 0;
    }
  }
  EXPECT_NEAR(static_cast<double>(follow) / all, 0.75 + 0.25 / 64, 0.03);
}

}  // namespace
}  // namespace ptrain

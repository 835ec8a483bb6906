// The byte-level BPE against ids that Hugging Face's RobertaTokenizer and GPT2Tokenizer gave
// (tests/golden/make_tokenizer_golden.py).
#include "core/data/text/byte_bpe.h"

#include "core/io/atomic_file.h"
#include "tests/error_message.h"
#include "tests/temporary_directory.h"

#include <gtest/gtest.h>
#include <nlohmann/json.hpp>

#include <fstream>

namespace ptrain {
namespace {

nlohmann::json golden(const std::string& name = "byte_bpe") {
  std::ifstream file(PTRAIN_SOURCE_DIR "/tests/golden/" + name + ".json");
  if (!file) throw std::runtime_error("tests/golden/" + name + ".json is missing");
  return nlohmann::json::parse(file);
}

BpeTokenizer get_tokenizer(const nlohmann::json& json) {
  return read_byte_bpe(json["vocabulary"].dump(), json["merges"].get<std::string>());
}

TEST(ByteBpe, GivesTheIdsOfHuggingFacesTokenizer) {
  const nlohmann::json json = golden();
  const BpeTokenizer tokenizer = get_tokenizer(json);
  ASSERT_GT(json["cases"].size(), 50u);
  for (const nlohmann::json& expected : json["cases"]) {
    const auto length = expected["max_length"].get<std::size_t>();
    const bool has_second = !expected["second"].is_null();
    std::vector<std::int32_t> first, second, ids(length), types(length);
    tokenizer.tokenize(expected["first"].get<std::string>(), first);
    if (has_second) tokenizer.tokenize(expected["second"].get<std::string>(), second);
    const auto used = static_cast<std::size_t>(tokenizer.encode_pair(first, second, has_second, ids, types));
    for (std::size_t i = used; i < length; ++i) EXPECT_EQ(ids[i], tokenizer.pad_id());
    ids.resize(used);
    types.resize(used);
    EXPECT_EQ(ids, expected["ids"].get<std::vector<std::int32_t>>()) << expected["first"];
    EXPECT_EQ(types, expected["token_types"].get<std::vector<std::int32_t>>()) << expected["first"];
  }
}

TEST(ByteBpe, GivesTheIdsOfGpt2sTokenizerWithItsOneMark) {
  const nlohmann::json json = golden("gpt2_bpe");
  const BpeTokenizer tokenizer = get_tokenizer(json);
  ASSERT_GT(json["cases"].size(), 20u);
  for (const nlohmann::json& expected : json["cases"]) {
    std::vector<std::int32_t> ids;
    tokenizer.tokenize(expected["text"].get<std::string>(), ids);
    EXPECT_EQ(ids, expected["ids"].get<std::vector<std::int32_t>>()) << expected["text"];
  }
  for (const nlohmann::json& expected : json["cases"]) {
    EXPECT_EQ(tokenizer.decode(expected["ids"].get<std::vector<std::int32_t>>()), expected["text"].get<std::string>());
  }
  const auto mark = json["vocabulary"]["<|endoftext|>"].get<std::int32_t>();
  EXPECT_EQ(tokenizer.end_id(), mark);
  EXPECT_EQ(tokenizer.pad_id(), mark);
  EXPECT_EQ(tokenizer.unknown_id(), mark);
}

TEST(ByteBpe, RobertasVocabularyReadsGpt2sMarkAsText) {
  nlohmann::json json = golden();
  json["vocabulary"]["<|endoftext|>"] = json["vocabulary"].size();
  std::vector<std::int32_t> ids;
  get_tokenizer(json).tokenize("<|endoftext|>", ids);
  EXPECT_GT(ids.size(), 1u);
}

/// Where SST-2 is at hand: the folder that PTRAIN_SHARED_DATA names.
TEST(ByteBpe, GivesTheSameIdsForAllOfSst2) {
  const char* shared = std::getenv("PTRAIN_SHARED_DATA");
  const std::filesystem::path folder = std::filesystem::path(shared == nullptr ? "" : shared) / "sst2";
  if (shared == nullptr || !std::filesystem::exists(folder / "train.tsv")) GTEST_SKIP() << "SST-2 is not at hand";
  const nlohmann::json json = golden();
  const BpeTokenizer tokenizer = get_tokenizer(json);
  std::vector<std::int32_t> all;
  std::int64_t sentences = 0;
  for (const char* name : {"train.tsv", "dev.tsv"}) {
    std::ifstream file(folder / name);
    for (std::string line; std::getline(file, line); ++sentences)
      tokenizer.tokenize(line.substr(0, line.rfind('\t')), all);
  }
  EXPECT_EQ(sentences, json["sst2"]["sentences"]);
  EXPECT_EQ(all.size(), json["sst2"]["tokens"]);
  EXPECT_EQ(crc32(std::as_bytes(std::span(all))), json["sst2"]["crc32"].get<std::uint32_t>());
}

TEST(ByteBpe, HasATokenForEveryByteAndJoinsLongWordsInTime) {
  const BpeTokenizer tokenizer = get_tokenizer(golden());
  std::vector<std::int32_t> ids;
  tokenizer.tokenize("\xff\xc3\xed\xa0", ids);
  EXPECT_EQ(ids.size(), 4u);
  ids.clear();
  tokenizer.tokenize(std::string(1'000'000, 'a'), ids);
  EXPECT_LT(ids.size(), 500'000u);
}

TEST(ByteBpe, NamesTheFileAndThePlaceOfWhatIsWrong) {
  const nlohmann::json json = golden();
  const std::string merges = json["merges"];
  const auto with = [&](const char* token, const nlohmann::json& id) {
    nlohmann::json changed = json["vocabulary"];
    id.is_null() ? static_cast<void>(changed.erase(token)) : static_cast<void>(changed[token] = id);
    return get_error([&] { read_byte_bpe(changed.dump(), merges); });
  };
  EXPECT_NE(with("<s>", 1).find("expected each of 0 to"), std::string::npos);
  EXPECT_NE(with("<s>", -1).find("vocab.json: token \"<s>\": id -1"), std::string::npos);
  EXPECT_NE(with("<s>", "one").find("id \"one\""), std::string::npos);
  const auto merged = [&](const std::string& text) {
    return get_error([&] { read_byte_bpe(json["vocabulary"].dump(), text); });
  };
  EXPECT_NE(merged("#version: 0.2\na b c\n").find("merges.txt:2: expected two tokens"), std::string::npos);
  EXPECT_NE(merged("a nothing\n").find("merges.txt:1: \"nothing\" is not a token"), std::string::npos);
  EXPECT_NE(get_error([&] { read_byte_bpe("{\"a\": 0}", merges); }).find("not a byte-level BPE's vocabulary"),
            std::string::npos);
  EXPECT_NE(get_error([&] { read_byte_bpe("[]", merges); }).find("expected a JSON object"), std::string::npos);
}

TEST(ByteBpe, TakesTheLastOfATokenThatOccursAgain) {
  const nlohmann::json json = golden();
  const std::size_t size = json["vocabulary"].size();
  const std::string whole = json["vocabulary"].dump();
  std::vector<std::int32_t> ids;
  for (const std::string mark : {"", "\xEF\xBB\xBF"}) {
    const BpeTokenizer tokenizer =
        read_byte_bpe(mark + fmt::format("{},\"a\":{}}}", whole.substr(0, whole.size() - 1), size),
                      json["merges"].get<std::string>());
    EXPECT_EQ(tokenizer.vocab_size(), static_cast<int>(size + 1));
    ASSERT_EQ(tokenizer.notes().size(), 1u);
    EXPECT_EQ(tokenizer.notes()[0], "vocab.json: 1 tokens occur again (first: \"a\"); the last one's number counts");
    ids.clear();
    tokenizer.tokenize("a", ids);
    EXPECT_EQ(ids, std::vector<std::int32_t>{static_cast<std::int32_t>(size)});
  }
  EXPECT_TRUE(get_tokenizer(json).notes().empty());
  EXPECT_NE(get_error([&] {
              read_byte_bpe(fmt::format("{},\"a\":{}}}", whole.substr(0, whole.size() - 1), size + 1),
                            json["merges"].get<std::string>());
            }).find(fmt::format("token \"a\": id {}: expected each of 0 to {} once", size + 1, size)),
            std::string::npos);
}

TEST(ByteBpe, IsOpenedByTheVocabularysEndingWithItsMergesBesideIt) {
  const nlohmann::json json = golden();
  const TemporaryDirectory folder;
  std::ofstream(folder / "vocab.json") << json["vocabulary"].dump();
  EXPECT_NE(get_error([&] { open_tokenizer(folder / "vocab.json", TextCase::lower); }).find("merges.txt"),
            std::string::npos);
  std::ofstream(folder / "merges.txt") << json["merges"].get<std::string>();
  const std::unique_ptr<Tokenizer> tokenizer = open_tokenizer(folder / "vocab.json", TextCase::lower);
  EXPECT_EQ(tokenizer->vocab_size(), static_cast<int>(json["vocabulary"].size()));
}

}  // namespace
}  // namespace ptrain

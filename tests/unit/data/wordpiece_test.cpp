// The tokeniser against ids that Hugging Face's BertTokenizer gave (tests/golden/make_tokenizer_golden.py).
#include "core/data/text/wordpiece.h"

#include "core/base/errors.h"
#include "tests/error_message.h"
#include "tests/temporary_directory.h"

#include <gtest/gtest.h>
#include <nlohmann/json.hpp>

#include <algorithm>
#include <fstream>

namespace ptrain {
namespace {

TEST(WordPiece, GivesTheIdsOfHuggingFacesTokenizer) {
  std::ifstream file(PTRAIN_SOURCE_DIR "/tests/golden/tokenizer.json");
  ASSERT_TRUE(file) << "tests/golden/tokenizer.json is missing";
  const nlohmann::json golden = nlohmann::json::parse(file);
  const auto vocabulary = golden["vocabulary"].get<std::vector<std::string>>();
  const WordPiece lower(vocabulary, TextCase::lower), keep(vocabulary, TextCase::keep);
  ASSERT_GT(golden["cases"].size(), 50u);
  for (const nlohmann::json& expected : golden["cases"]) {
    const WordPiece& tokenizer = expected["lowercase"].get<bool>() ? lower : keep;
    const auto length = expected["max_length"].get<std::size_t>();
    const bool has_second = !expected["second"].is_null();
    std::vector<std::int32_t> first, second, ids(length), types(length);
    tokenizer.tokenize(expected["first"].get<std::string>(), first);
    if (has_second) tokenizer.tokenize(expected["second"].get<std::string>(), second);
    const auto used = static_cast<std::size_t>(tokenizer.encode_pair(first, second, has_second, ids, types));
    for (std::size_t i = used; i < length; ++i) {
      EXPECT_EQ(ids[i], 0);
      EXPECT_EQ(types[i], 0);
    }
    ids.resize(used);
    types.resize(used);
    EXPECT_EQ(ids, expected["ids"].get<std::vector<std::int32_t>>()) << expected["first"];
    EXPECT_EQ(types, expected["token_types"].get<std::vector<std::int32_t>>()) << expected["first"];
  }
}

TEST(WordPiece, SkipsBytesThatAreNotUtf8) {
  const WordPiece tokenizer({"[PAD]", "[UNK]", "[CLS]", "[SEP]", "ab"}, TextCase::lower);
  std::vector<std::int32_t> ids;
  tokenizer.tokenize("a\xff\xc3\x62 \xed\xa0\x80 ab", ids);
  EXPECT_EQ(ids, (std::vector<std::int32_t>{4, 4}));
}

TEST(WordPiece, ReadsAVocabularyFileLineByLine) {
  const TemporaryDirectory folder;
  const std::string good = "[PAD]\n[UNK]\n[CLS]\n[SEP]\nab\n";
  const auto read = [&](const std::string& text) {
    std::ofstream(folder / "vocab.txt", std::ios::binary) << text;
    std::vector<std::int32_t> ids;
    WordPiece::from_file(folder / "vocab.txt", TextCase::lower).tokenize("ab", ids);
    return ids.at(0);
  };
  EXPECT_EQ(read(good), 4);
  EXPECT_EQ(read("\xEF\xBB\xBF" + good + "\r\n\n"), 4);
  EXPECT_EQ(read("[PAD]\t0\n[UNK]\t1\n[CLS]\t2\n[SEP]\t3\nab\t4\n"), 4) << "as ERNIE's is written";
  EXPECT_NE(get_error([&] { read(good + "cd\t7\n"); }).find("vocab.txt:6: expected 5 after the tab"),
            std::string::npos);
  std::string returns = good;
  std::replace(returns.begin(), returns.end(), '\n', '\r');
  EXPECT_NE(get_error([&] { read(returns); }).find("vocab.txt: lines end in carriage returns only"), std::string::npos);
  EXPECT_NE(get_error([&] { read(good + '\0'); }).find("vocab.txt: not a text file (byte 0x00)"), std::string::npos);
  EXPECT_EQ(read(good + "\nab\n"), 6) << "the last line of a token that occurs twice";
  const auto notes = WordPiece::from_file(folder / "vocab.txt", TextCase::lower).notes();
  ASSERT_EQ(notes.size(), 2u);
  EXPECT_TRUE(notes[0].ends_with("1 tokens occur again (first: line 7); the last line's number counts"));
  EXPECT_TRUE(notes[1].ends_with("1 blank lines (first: line 6) count as tokens that no text has"));
}

TEST(WordPiece, RefusesAVocabularyThatIsNotBerts) {
  EXPECT_THROW(WordPiece({}, TextCase::lower), Error);
  EXPECT_THROW(WordPiece({"[PAD]", "[UNK]", "[CLS]", "hello"}, TextCase::lower), Error);
  EXPECT_THROW(WordPiece::from_file("/nonexistent/vocab.txt", TextCase::lower), Error);
}

}  // namespace
}  // namespace ptrain

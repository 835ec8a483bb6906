// SentencePiece's models against ids and texts of its Python package (tests/golden/make_tokenizer_golden.py).
#include "core/io/atomic_file.h"
#include "tests/error_message.h"
#include "tests/temporary_directory.h"

#include "core/data/text/sentencepiece.h"

#include <gtest/gtest.h>
#include <nlohmann/json.hpp>

#include <fstream>

namespace ptrain {
namespace sentencepiece_test {

using nlohmann::json;
using Ids = std::vector<std::int32_t>;

std::string get_model(const std::string& kind) {
  return PTRAIN_SOURCE_DIR "/tests/golden/sentencepiece_" + kind + ".model";
}

/// Whether the library is built in; without it every model is refused.
bool is_built_in() {
  try {
    open_tokenizer(get_model("bpe"), TextCase::keep);
    return true;
  } catch (const Error& error) {
    EXPECT_NE(std::string(error.what()).find("built without SentencePiece (libsentencepiece-dev)"), std::string::npos)
        << error.what();
    return false;
  }
}

TEST(SentencePiece, GivesTheIdsAndTextsOfItsPackage) {
  if (!is_built_in()) GTEST_SKIP() << "libsentencepiece is not installed";
  std::ifstream file(PTRAIN_SOURCE_DIR "/tests/golden/sentencepiece.json");
  const json golden = json::parse(file);
  for (const char* kind : {"bpe", "unigram"}) {
    const auto tokenizer = open_tokenizer(get_model(kind), TextCase::keep);
    EXPECT_EQ(tokenizer->vocab_size(), golden[kind]["size"]);
    EXPECT_EQ(tokenizer->end_id(), golden[kind]["end"]);
    ASSERT_GT(golden[kind]["cases"].size(), 30u);
    for (const json& expected : golden[kind]["cases"]) {
      Ids ids;
      tokenizer->tokenize(expected["text"].get<std::string>(), ids);
      EXPECT_EQ(ids, expected["ids"].get<Ids>()) << kind << ": " << expected["text"];
      EXPECT_EQ(tokenizer->decode(ids), expected["decoded"].get<std::string>()) << kind;
    }
  }
}

TEST(SentencePiece, DamagedModelsAreRefusedInOneLine) {
  if (!is_built_in()) GTEST_SKIP() << "libsentencepiece is not installed";
  const std::string whole = read_file(get_model("bpe"));
  for (std::size_t size = 0; size < whole.size(); size += whole.size() / 7) {
    const std::string message = get_error([&] { read_sentencepiece(whole.substr(0, size), "t.model"); });
    EXPECT_EQ(message.find("t.model: "), 0u) << message;
  }
}

TEST(SentencePiece, AModelsFolderKeepsTheFile) {
  const VocabularyCopy copy = copy_vocabulary(get_model("bpe"), TextCase::keep);
  ASSERT_EQ(copy.files.size(), 1u);
  EXPECT_EQ(copy.files.at("tokenizer.model"), read_file(get_model("bpe")));
}

}  // namespace sentencepiece_test
}  // namespace ptrain

// tokenizer.json in the forms of GPT-2, SmolLM2, Llama 2 and 3, Qwen and RoBERTa, against ids and texts of the package
// tokenizers (tests/golden/make_tokenizer_golden.py); the same vocabularies in GGUF.
#include "core/data/text/tokenizer_json.h"

#include "core/data/text/gguf_tokenizer.h"
#include "core/io/atomic_file.h"
#include "tests/error_message.h"
#include "tests/temporary_directory.h"
#include "tests/written_gguf.h"

#include <gtest/gtest.h>

#include <fstream>

namespace ptrain {
namespace tokenizer_json_test {

using nlohmann::json;
using Ids = std::vector<std::int32_t>;

const json& get_golden() {
  static const json golden = [] {
    std::ifstream file(PTRAIN_SOURCE_DIR "/tests/golden/tokenizer_forms.json");
    return json::parse(file);
  }();
  return golden;
}

/// The file of a form; forms share two models.
json make_file(const std::string& form) {
  json file = get_golden()["forms"][form]["file"];
  json model = get_golden()["models"][file["model"]["shared"].get<std::string>()];
  model.update(file["model"]);
  file["model"] = model;
  return file;
}

Ids get_ids(const Tokenizer& tokenizer, const std::string& text) {
  Ids ids;
  tokenizer.tokenize(text, ids);
  return ids;
}

std::string get_rejection(const json& file) {
  return get_error([&] { read_tokenizer_json(file, "tokenizer.json"); });
}

void expect_rejection(const json& file, std::string_view part) {
  const std::string message = get_rejection(file);
  EXPECT_EQ(message.find("tokenizer.json: "), 0u) << message;
  EXPECT_NE(message.find(part), std::string::npos) << message;
}

class TokenizerForm : public ::testing::TestWithParam<const char*> {};

TEST_P(TokenizerForm, GivesTheIdsAndTextsOfItsPackage) {
  const BpeTokenizer tokenizer(read_tokenizer_json(make_file(GetParam()), GetParam()));
  const json& cases = get_golden()["forms"][GetParam()]["cases"];
  ASSERT_GT(cases.size(), 30u);
  for (const json& expected : cases) {
    const Ids ids = get_ids(tokenizer, expected["text"]);
    EXPECT_EQ(ids, expected["ids"].get<Ids>()) << expected["text"];
    if (!expected["decoded"].is_null()) {
      EXPECT_EQ(tokenizer.decode(ids), expected["decoded"].get<std::string>());
    }
  }
}

INSTANTIATE_TEST_SUITE_P(All, TokenizerForm,
                         ::testing::Values("gpt2", "smollm2", "llama3", "qwen2", "roberta", "llama2",
                                           "llama2_metaspace"),
                         [](const auto& form) { return std::string(form.param); });

TEST(TokenizerJson, EndsTextsWithTheNamedTokenElseTheLikeliest) {
  const json file = make_file("smollm2");
  EXPECT_EQ(BpeTokenizer(read_tokenizer_json(file, "t")).end_id(), 400);
  EXPECT_EQ(BpeTokenizer(read_tokenizer_json(file, "t", "<|im_end|>")).end_id(), 402);
  const std::string message = get_error([&] { read_tokenizer_json(file, "t", "</s>"); });
  EXPECT_EQ(message, "t: has no token \"</s>\", which is said to end a text");
  json without = file;
  without["added_tokens"] = json::array();
  expect_rejection(without, "expected eos_token in a tokenizer_config.json beside it");
}

TEST(TokenizerJson, ATemplateSaysWhatAPromptBeginsWith) {
  json file = make_file("llama3");
  EXPECT_FALSE(BpeTokenizer(read_tokenizer_json(file, "t")).begin_id());
  file["post_processor"] = json::parse(R"({"type": "Sequence", "processors": [{"type": "ByteLevel"},
    {"type": "TemplateProcessing", "single": [{"SpecialToken": {"id": "<|im_start|>", "type_id": 0}}, {"Sequence": {}}]}]})");
  EXPECT_EQ(BpeTokenizer(read_tokenizer_json(file, "t")).begin_id(), 401);
  file["post_processor"]["processors"][1]["single"][0]["SpecialToken"]["id"] = "none";
  expect_rejection(file, "post_processor: single: \"none\" is no token");
}

TEST(TokenizerJson, RobertasPutsTwoSeparatorsBetweenSentences) {
  const BpeTokenizer tokenizer(read_tokenizer_json(make_file("roberta"), "t"));
  Ids ids(7), types(7);
  EXPECT_EQ(tokenizer.encode_pair(Ids{5}, Ids{6}, true, ids, types), 6);
  EXPECT_EQ(ids, (Ids{400, 5, 402, 402, 6, 402, 401}));
}

TEST(TokenizerJson, AnyBytesHaveTokensAndLongWordsAreJoinedInTime) {
  const BpeTokenizer levels(read_tokenizer_json(make_file("qwen2"), "t"));
  const BpeTokenizer characters(read_tokenizer_json(make_file("llama2"), "t"));
  EXPECT_EQ(get_ids(levels, "\xff\xc3\xed\xa0").size(), 4u);
  EXPECT_EQ(get_ids(characters, "\xff\xc3").size(), 3u);  // with the mark before it
  EXPECT_EQ(characters.decode(get_ids(characters, "\xff\xc3")), "\xff\xc3");
  EXPECT_LT(get_ids(characters, std::string(1'000'000, 'a')).size(), 1'000'002u);
}

TEST(TokenizerJson, OtherTokenizersAreRefusedByName) {
  const auto with = [](const std::string& form, const char* pointer, const json& value) {
    json file = make_file(form);
    file[json::json_pointer(pointer)] = value;
    return file;
  };
  expect_rejection(with("gpt2", "/model/type", "WordPiece"),
                   "model.type: \"WordPiece\" is not supported: expected BPE");
  expect_rejection(with("gpt2", "/model/type", "Unigram"), "SentencePiece's .model file is read");
  expect_rejection(with("gpt2", "/model/end_of_word_suffix", "</w>"), "model.end_of_word_suffix: \"</w>\"");
  expect_rejection(with("gpt2", "/model/dropout", 0.1), "model.dropout: 0.1");
  expect_rejection(with("gpt2", "/normalizer", {{"type", "BertNormalizer"}}), "normalizer: \"BertNormalizer\"");
  expect_rejection(with("gpt2", "/pre_tokenizer/type", "Whitespace"), "pre_tokenizer: \"Whitespace\"");
  expect_rejection(with("gpt2", "/pre_tokenizer/add_prefix_space", true), "add_prefix_space false");
  expect_rejection(with("llama3", "/pre_tokenizer/pretokenizers/0/pattern/Regex", "\\w+"),
                   "pre_tokenizer: Split: {\"Regex\":\"\\\\w+\"} is not supported");
  expect_rejection(with("llama2_metaspace", "/pre_tokenizer/split", true), "split false");
  expect_rejection(with("llama2", "/decoder/decoders/0", {{"type", "WordPiece"}}), "decoder: \"WordPiece\"");
  expect_rejection(with("gpt2", "/added_tokens/0/single_word", true), "single_word");
  expect_rejection(with("gpt2", "/model/byte_fallback", true), "model.byte_fallback");
}

TEST(TokenizerJson, DamagedFilesAreRefusedInOneLine) {
  const auto with = [](const char* pointer, const json& value) {
    json file = make_file("llama2");
    file[json::json_pointer(pointer)] = value;
    return file;
  };
  expect_rejection(json::array(), "expected a JSON object with a model");
  expect_rejection(json(json::value_t::discarded), "expected a JSON object with a model");
  expect_rejection({{"model", json::object()}}, "model.vocab: expected tokens with their ids");
  expect_rejection(with("/model/vocab/<s>", -1), "token \"<s>\": id -1: expected a number from 0 to 999999");
  expect_rejection(with("/model/vocab/<s>", 4'000'000'000u), "id 4000000000");
  expect_rejection(with("/model/vocab/<s>", 2u), "have the same id 2");
  expect_rejection(with("/model/merges", "none"), "model.merges: expected a list");
  expect_rejection(with("/model/merges/3", {"a", "b", "c"}), "model.merges: entry 3: [\"a\",\"b\",\"c\"]");
  expect_rejection(with("/model/merges/3", "a b c"), "model.merges: entry 3");
  expect_rejection(with("/model/merges/3", {"a", "nothing"}), "entry 3: \"nothing\" is not a token");
  expect_rejection(with("/model/unk_token", "none"), "model.unk_token: \"none\" is no token");
  expect_rejection(with("/added_tokens", 1), "added_tokens: expected a list");
  expect_rejection(with("/added_tokens/0", "text"), "added_tokens: content: expected a text, got null");
  expect_rejection(with("/normalizer/normalizers/1/pattern/String", ""), "normalizer: ");
  expect_rejection(with("/normalizer/normalizers/1/content", std::string(9, 'x')), "at most 8 bytes");
  expect_rejection(with("/normalizer/normalizers", std::vector<json>(5, json{{"type", "NFC"}})),
                   "5 steps, expected at most 4");
  expect_rejection(with("/decoder/decoders", nullptr), "decoder: decoders: expected a list");
}

/// The vocabulary of a form with the added tokens, as GGUF lists it.
gguf_test::Written write_gguf(const std::string& form, const std::string& pre) {
  const json file = make_file(form);
  std::vector<std::string> tokens(file["model"]["vocab"].size() + file["added_tokens"].size());
  std::vector<std::int32_t> types(tokens.size(), 1);
  for (const auto& [token, id] : file["model"]["vocab"].items()) tokens[id.get<std::size_t>()] = token;
  for (const json& added : file["added_tokens"]) {
    tokens[added["id"].get<std::size_t>()] = added["content"];
    types[added["id"].get<std::size_t>()] = 3;
  }
  std::vector<std::string> merges;
  for (const json& pair : file["model"]["merges"]) {
    merges.push_back(pair[0].get<std::string>() + " " + pair[1].get<std::string>());
  }
  gguf_test::Written written = gguf_test::begin(0, 6);
  written.string("tokenizer.ggml.model").number(8u).string("gpt2");
  written.string("tokenizer.ggml.pre").number(8u).string(pre);
  written.string("tokenizer.ggml.eos_token_id").number(4u).number(402u);
  return written.texts("tokenizer.ggml.tokens", tokens)
      .numbers("tokenizer.ggml.token_type", 5, types)
      .texts("tokenizer.ggml.merges", merges);
}

TEST(GgufTokenizer, GivesTheIdsOfTheSameTokenizerJson) {
  const TemporaryDirectory folder;
  for (const auto& [form, pre] :
       {std::pair("smollm2", "smollm"), std::pair("llama3", "llama-bpe"), std::pair("qwen2", "qwen2")}) {
    folder.write("model.gguf", write_gguf(form, pre).text());
    const auto found = open_tokenizer(folder / "model.gguf", TextCase::keep);
    EXPECT_EQ(found->end_id(), 402);
    for (const json& expected : get_golden()["forms"][form]["cases"]) {
      const std::string text = expected["text"];
      if (text.find("<t\u00fcr>") != text.npos) continue;  // a token that GGUF does not find in normalised text
      EXPECT_EQ(get_ids(*found, text), expected["ids"].get<Ids>()) << form << ": " << text;
    }
  }
}

TEST(GgufTokenizer, ScoresSayWhichPairsAreJoinedFirst) {
  const GgufMetadata metadata{
      {"tokenizer.ggml.model", "llama"},
      {"tokenizer.ggml.tokens", {"<unk>", "</s>", "a", "b", "c", "\u2581", "bc", "ab", "\u2581ab", "abc"}},
      {"tokenizer.ggml.scores", {0, 0, -9, -9, -9, -9, -1, -2, -3, -4}},
      {"tokenizer.ggml.token_type", {2, 3, 1, 1, 1, 1, 1, 1, 1, 1}},
      {"tokenizer.ggml.bos_token_id", 0u},
      {"tokenizer.ggml.eos_token_id", 1u},
      {"tokenizer.ggml.unknown_token_id", 0u}};
  const GgufTokenizer read = read_gguf_tokenizer(metadata, "t.gguf");
  const BpeTokenizer tokenizer(read_tokenizer_json(read.file, "t.gguf", read.end_token));
  EXPECT_EQ(tokenizer.begin_id(), 0);  // unless add_bos_token is false
  EXPECT_EQ(get_ids(tokenizer, "ab"), (Ids{8}));
  EXPECT_EQ(get_ids(tokenizer, "abc"), (Ids{5, 9}));  // bc first, then abc
  EXPECT_EQ(get_ids(tokenizer, "a</s>zyb"), (Ids{5, 2, 1, 5, 0, 3}));
  EXPECT_EQ(tokenizer.decode(Ids{8, 5, 9}), "ab abc");
}

TEST(GgufTokenizer, WhatIsMissingOrUnknownIsNamed) {
  const auto expect = [](GgufMetadata metadata, std::string_view key, const json& value, std::string_view part) {
    metadata[std::string("tokenizer.ggml.") + std::string(key)] = value;
    const std::string message = get_error([&] {
      const GgufTokenizer read = read_gguf_tokenizer(metadata, "t.gguf");
      read_tokenizer_json(read.file, "t.gguf", read.end_token);
    });
    EXPECT_EQ(message.find("t.gguf: "), 0u) << message;
    EXPECT_NE(message.find(part), std::string::npos) << message;
  };
  const GgufMetadata bytes{{"tokenizer.ggml.model", "gpt2"},
                           {"tokenizer.ggml.tokens", {"a", "b", "ab", "</s>"}},
                           {"tokenizer.ggml.merges", {"a b"}}};
  expect({}, "pre", "gpt-2", "tokenizer.ggml.model: expected a text");
  expect(bytes, "model", "rwkv", "tokenizer.ggml.model: \"rwkv\" is not supported: expected gpt2 or llama");
  expect(bytes, "pre", "falcon", "tokenizer.ggml.pre: \"falcon\" is not supported");
  expect(bytes, "tokens", {"a", "a"}, "\"a\" occurs twice");
  expect(bytes, "tokens", {"a", "\xff"}, "token 1: expected a text in UTF-8");
  expect(bytes, "token_type", {1, 1}, "tokenizer.ggml.token_type: expected a list of 4, one for each token");
  expect(bytes, "token_type", {1, 1, 7, 1}, "token 2: expected a type from 1 to 6");
  expect(bytes, "eos_token_id", 4u, "tokenizer.ggml.eos_token_id: expected a token from 0 to 3");
  expect(bytes, "merges", {"a c"}, "\"c\" is not a token of the vocabulary");
  expect(bytes, "model", "llama", "tokenizer.ggml.scores: expected a list of 4, one for each token");
}

/// What a model's folder keeps of each form opens to the same tokeniser.
TEST(OpenTokenizer, ACopyGivesTheSameIds) {
  const TemporaryDirectory folder;
  folder.write("tokenizer.json", make_file("smollm2").dump());
  folder.write("tokenizer_config.json",
               std::string(R"({"eos_token": {"content": "<|im_end|>"}, "model_max_length": 9})"));
  folder.write("model.gguf", write_gguf("smollm2", "smollm").text());
  const std::string text = get_golden()["forms"]["smollm2"]["cases"][25]["text"];
  for (const char* name : {"tokenizer.json", "model.gguf"}) {
    const auto tokenizer = open_tokenizer(folder / name, TextCase::keep);
    EXPECT_EQ(tokenizer->end_id(), 402) << name;
    const TemporaryDirectory copied;
    const VocabularyCopy copy = copy_vocabulary(folder / name, TextCase::keep);
    for (const auto& [file, content] : copy.files) copied.write(file, content);
    copied.write("tokenizer_config.json", copy.config.dump());
    const auto again = open_tokenizer(copied / "tokenizer.json", TextCase::keep);
    EXPECT_EQ(again->end_id(), 402) << name;
    EXPECT_EQ(again->vocab_size(), tokenizer->vocab_size());
    EXPECT_EQ(get_ids(*again, text), get_ids(*tokenizer, text));
  }
}

TEST(OpenTokenizer, NamesAFileThatIsNoVocabulary) {
  const TemporaryDirectory folder;
  const auto refuse = [&](const std::string& name, const std::string& content, std::string_view part) {
    folder.write(name, content);
    const std::string message = get_error([&] { open_tokenizer(folder / name, TextCase::keep); });
    EXPECT_NE(message.find(name), std::string::npos) << message;
    EXPECT_NE(message.find(part), std::string::npos) << message;
  };
  refuse("tokenizer.json", R"({"model": {"type": "WordLevel"}})", "\"WordLevel\" is not supported");
  refuse("m.gguf", "GGUF", "truncated");
  refuse("m.model", "\x01\x02 no model", "SentencePiece");
}

}  // namespace tokenizer_json_test
}  // namespace ptrain

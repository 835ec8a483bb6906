// The forms of a vocabulary, told apart by the file's ending and by what is in it.
#include "core/base/errors.h"
#include "core/base/utf8.h"
#include "core/data/text/byte_bpe.h"
#include "core/data/text/gguf_tokenizer.h"
#include "core/data/text/sentencepiece.h"
#include "core/data/text/tokenizer_json.h"
#include "core/data/text/wordpiece.h"
#include "core/io/atomic_file.h"
#include "core/io/json_text.h"

namespace ptrain {
namespace {

namespace fs = std::filesystem;
using nlohmann::json;

fs::path find_merges(const fs::path& vocab) { return vocab.parent_path() / "merges.txt"; }

/// tokenizer_config.json beside a tokenizer.json; empty where there is none.
json read_config(const fs::path& vocab) {
  const fs::path path = vocab.parent_path() / "tokenizer_config.json";
  if (!fs::exists(path)) return json::object();
  json config = parse_json(read_file(path));
  if (!config.is_object()) fail("{}: expected a JSON object", path.string());
  return config;
}

/// The token that a tokenizer_config.json says ends a text, itself or an object with its content; empty: none.
std::string find_end_token(const json& config) {
  json token = config.value("eos_token", json());
  if (token.is_object()) token = token.value("content", json());
  return token.is_string() ? token.get<std::string>() : "";
}

GgufTokenizer read_gguf(const fs::path& path) {
  const GgufFile file(path);
  GgufTokenizer tokenizer = read_gguf_tokenizer(file.metadata(), path.string());
  file.check();
  return tokenizer;
}

}  // namespace

std::unique_ptr<Tokenizer> open_tokenizer(const fs::path& vocab, TextCase text_case) {
  const std::string name = vocab.string();
  if (vocab.extension() == ".gguf") {
    const auto [file, end_token] = read_gguf(vocab);
    return std::make_unique<BpeTokenizer>(read_tokenizer_json(file, name, end_token));
  }
  if (vocab.extension() == ".model") return read_sentencepiece(read_file(vocab), name);
  if (vocab.extension() != ".json") return std::make_unique<WordPiece>(WordPiece::from_file(vocab, text_case));
  const std::string content = read_file(vocab);
  if (const json file = parse_json(without_byte_order_mark(content)); is_tokenizer_json(file)) {
    return std::make_unique<BpeTokenizer>(read_tokenizer_json(file, name, find_end_token(read_config(vocab))));
  }
  const fs::path merges = find_merges(vocab);
  return std::make_unique<BpeTokenizer>(read_byte_bpe(content, read_file(merges), name, merges.string()));
}

VocabularyCopy copy_vocabulary(const fs::path& vocab, TextCase text_case) {
  if (vocab.extension() == ".gguf") {
    const auto [file, end_token] = read_gguf(vocab);
    VocabularyCopy copy{{{"tokenizer.json", file.dump(-1, ' ', false, json::error_handler_t::replace)}},
                        {{"tokenizer_class", "PreTrainedTokenizerFast"}}};
    if (!end_token.empty()) copy.config["eos_token"] = end_token;
    return copy;
  }
  std::string content = read_file(vocab);
  if (vocab.extension() == ".model") return {{{"tokenizer.model", std::move(content)}}, json::object()};
  if (vocab.extension() != ".json") {
    return {{{"vocab.txt", std::move(content)}}, {{"do_lower_case", text_case == TextCase::lower}}};
  }
  if (is_tokenizer_json(parse_json(without_byte_order_mark(content)))) {
    json config = read_config(vocab);
    config.emplace("tokenizer_class", "PreTrainedTokenizerFast");
    return {{{"tokenizer.json", std::move(content)}}, std::move(config)};
  }
  return {{{"vocab.json", std::move(content)}, {"merges.txt", read_file(find_merges(vocab))}},
          {{"do_lower_case", false}}};
}

}  // namespace ptrain

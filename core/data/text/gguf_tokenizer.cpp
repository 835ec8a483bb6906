#include "core/data/text/gguf_tokenizer.h"

#include "core/base/errors.h"
#include "core/base/utf8.h"
#include "core/data/text/tokenizer.h"
#include "core/data/text/word_split.h"
#include "core/io/atomic_file.h"

#include <algorithm>
#include <cmath>
#include <optional>
#include <utility>
#include <vector>

namespace ptrain {
namespace {

using nlohmann::json;

constexpr std::string_view space_mark = "\u2581";  // SentencePiece's
constexpr std::size_t longest_joined = 256;        // bytes of a token that is joined from others

/// ggml's types of tokens.
enum class TokenType { normal = 1, unknown = 2, control = 3, user_defined = 4, unused = 5, byte = 6 };

class GgufVocabulary {
 public:
  GgufVocabulary(const GgufMetadata& metadata, const std::string& name) : metadata_(metadata), name_(name) {}

  GgufTokenizer read() {
    const std::string kind = get_text("model");
    const bool bytes = kind == "gpt2";
    if (!bytes && kind != "llama") {
      fail("{}: tokenizer.ggml.model: {} is not supported: expected gpt2 or llama", name_, quoted_name(kind));
    }
    read_tokens();
    GgufTokenizer result;
    result.file = {{"added_tokens", list_added()}};
    bytes ? describe_byte_level(result.file) : describe_sentencepiece(result.file);
    const auto begin = find_id("bos_token_id");
    if (begin && get_flag("add_bos_token", !bytes)) {
      const json first{{"SpecialToken", {{"id", tokens_[*begin]}, {"type_id", 0}}}};
      const json text{{"Sequence", {{"id", "A"}, {"type_id", 0}}}};
      const json token{{"id", tokens_[*begin]}, {"ids", {*begin}}, {"tokens", {tokens_[*begin]}}};
      result.file["post_processor"] = {{"type", "TemplateProcessing"},
                                       {"single", {first, text}},
                                       {"pair", {first, text}},
                                       {"special_tokens", {{tokens_[*begin], token}}}};
    }
    if (const auto end = find_id("eos_token_id")) result.end_token = tokens_[*end];
    return result;
  }

 private:
  /// A key of the tokenizer; null where it is missing.
  const json& get(std::string_view key) const {
    static const json missing;
    const auto found = metadata_.find(fmt::format("tokenizer.ggml.{}", key));
    return found == metadata_.end() ? missing : found->second;
  }
  std::string get_text(std::string_view key, std::optional<std::string> otherwise = {}) const {
    if (get(key).is_null() && otherwise) return *otherwise;
    if (!get(key).is_string()) fail("{}: tokenizer.ggml.{}: expected a text", name_, key);
    return get(key).get<std::string>();
  }
  bool get_flag(std::string_view key, bool otherwise) const {
    return get(key).is_boolean() ? get(key).get<bool>() : otherwise;
  }
  std::optional<std::size_t> find_id(std::string_view key) const {
    const json& id = get(key);
    if (id.is_null()) return {};
    if (!id.is_number_unsigned() || id.get<std::uint64_t>() >= tokens_.size()) {
      fail("{}: tokenizer.ggml.{}: expected a token from 0 to {}", name_, key, tokens_.size() - 1);
    }
    return id.get<std::size_t>();
  }
  /// A list with an entry for each token.
  const json& get_list(std::string_view key) const {
    const json& list = get(key);
    if (!list.is_array() || list.size() != tokens_.size()) {
      fail("{}: tokenizer.ggml.{}: expected a list of {}, one for each token", name_, key, tokens_.size());
    }
    return list;
  }

  void read_tokens() {
    const json& tokens = get("tokens");
    if (!tokens.is_array() || tokens.empty()) fail("{}: tokenizer.ggml.tokens: expected a list of texts", name_);
    for (const json& token : tokens) {
      if (!token.is_string() || !is_utf8(token.get_ref<const std::string&>())) {
        fail("{}: tokenizer.ggml.tokens: token {}: expected a text in UTF-8", name_, tokens_.size());
      }
      const auto id = static_cast<std::int32_t>(tokens_.size());
      tokens_.push_back(token.get<std::string>());
      if (!ids_.emplace(tokens_.back(), id).second) {
        fail("{}: tokenizer.ggml.tokens: {} occurs twice", name_, quoted_name(tokens_.back()));
      }
    }
    types_.assign(tokens_.size(), TokenType::normal);
    if (get("token_type").is_null()) return;
    const json& types = get_list("token_type");
    for (std::size_t i = 0; i < types_.size(); ++i) {
      const std::int64_t type = types[i].is_number_integer() ? types[i].get<std::int64_t>() : 0;
      if (type < static_cast<std::int64_t>(TokenType::normal) || type > static_cast<std::int64_t>(TokenType::byte)) {
        fail("{}: tokenizer.ggml.token_type: token {}: expected a type from 1 to 6", name_, i);
      }
      types_[i] = static_cast<TokenType>(type);
    }
  }

  json list_added() const {
    json added = json::array();
    for (std::size_t i = 0; i < tokens_.size(); ++i) {
      const bool control = types_[i] == TokenType::control;
      if (!control && types_[i] != TokenType::user_defined) continue;
      added.push_back({{"id", i},
                       {"content", tokens_[i]},
                       {"single_word", false},
                       {"lstrip", false},
                       {"rstrip", false},
                       {"normalized", false},
                       {"special", control}});
    }
    return added;
  }

  json list_vocabulary() const {
    json vocabulary = json::object();
    for (std::size_t i = 0; i < tokens_.size(); ++i) vocabulary[tokens_[i]] = i;
    return vocabulary;
  }

  /// tokenizer.ggml.pre names the rule that splits words.
  void describe_byte_level(json& file) const {
    const auto bytes = [](bool and_words) {
      return json{{"type", "ByteLevel"}, {"add_prefix_space", false}, {"trim_offsets", true}, {"use_regex", and_words}};
    };
    const auto splits_by = [&](const json& split, bool and_words) {
      return json{{"type", "Sequence"}, {"pretokenizers", {split, bytes(and_words)}}};
    };
    const auto splits_as_llama3 = [&](std::size_t most_digits) {
      const json pattern{{"Regex", llama3_regex(most_digits)}};
      return splits_by({{"type", "Split"}, {"pattern", pattern}, {"behavior", "Isolated"}, {"invert", false}}, false);
    };
    json& split = file["pre_tokenizer"];
    const std::string pre = get_text("pre", "gpt-2");
    if (pre == "gpt-2" || pre == "default") {
      split = bytes(true);
    } else if (pre == "smollm") {
      split = splits_by({{"type", "Digits"}, {"individual_digits", true}}, true);
    } else if (pre == "llama-bpe") {
      split = splits_as_llama3(3);
    } else if (pre == "qwen2") {
      split = splits_as_llama3(1);
      file["normalizer"] = {{"type", "NFC"}};
    } else {
      fail("{}: tokenizer.ggml.pre: {} is not supported: expected gpt-2, smollm, llama-bpe or qwen2", name_,
           quoted_name(pre));
    }
    file["decoder"] = bytes(true);
    file["model"] = {{"type", "BPE"},
                     {"ignore_merges", pre == "llama-bpe"},
                     {"vocab", list_vocabulary()},
                     {"merges", get("merges")}};
  }

  void describe_sentencepiece(json& file) const {
    const json pattern{{"String", " "}}, mark{{"String", space_mark}};
    const json spaces{{"type", "Replace"}, {"pattern", pattern}, {"content", space_mark}};
    const bool prefix = get_flag("add_space_prefix", true);
    file["normalizer"] = prefix ? json{{"type", "Sequence"},
                                       {"normalizers", {json{{"type", "Prepend"}, {"prepend", space_mark}}, spaces}}}
                                : spaces;
    json decoders{
        {{"type", "Replace"}, {"pattern", mark}, {"content", " "}}, {{"type", "ByteFallback"}}, {{"type", "Fuse"}}};
    if (prefix) decoders.push_back({{"type", "Strip"}, {"content", " "}, {"start", 1}, {"stop", 0}});
    file["decoder"] = {{"type", "Sequence"}, {"decoders", std::move(decoders)}};
    file["model"] = {{"type", "BPE"},
                     {"byte_fallback", true},
                     {"fuse_unk", true},
                     {"vocab", list_vocabulary()},
                     {"merges", list_merges()}};
    if (const auto unknown = find_id("unknown_token_id")) file["model"]["unk_token"] = tokens_[*unknown];
  }

  /// Every pair of tokens that together are a token, the one of the highest score first.
  json list_merges() const {
    struct Merge {
      double score;
      std::int32_t joined;
      std::size_t split;  // bytes of the left token
    };
    const json& scores = get_list("scores");
    std::vector<Merge> merges;
    for (std::size_t i = 0; i < tokens_.size(); ++i) {
      if (types_[i] != TokenType::normal || tokens_[i].size() > longest_joined) continue;
      if (!scores[i].is_number() || !std::isfinite(scores[i].get<double>()))
        fail("{}: tokenizer.ggml.scores: token {}: expected a number", name_, i);
      const std::string_view token = tokens_[i];
      for (std::size_t at = 0; at < token.size(); at += first_character(token.substr(at)).bytes) {
        if (at == 0 || !is_normal(token.substr(0, at)) || !is_normal(token.substr(at))) continue;
        merges.push_back({scores[i].get<double>(), static_cast<std::int32_t>(i), at});
      }
    }
    std::ranges::stable_sort(merges, [](const Merge& a, const Merge& b) { return a.score > b.score; });
    json pairs = json::array();
    for (const Merge& merge : merges) {
      const std::string& token = tokens_[static_cast<std::size_t>(merge.joined)];
      pairs.push_back({token.substr(0, merge.split), token.substr(merge.split)});
    }
    return pairs;
  }

  bool is_normal(std::string_view token) const {
    const auto found = ids_.find(token);
    return found != ids_.end() && types_[static_cast<std::size_t>(found->second)] == TokenType::normal;
  }

  const GgufMetadata& metadata_;
  const std::string& name_;
  std::vector<std::string> tokens_;
  std::vector<TokenType> types_;
  TokenIds ids_;
};

}  // namespace

GgufTokenizer read_gguf_tokenizer(const GgufMetadata& metadata, const std::string& name) {
  return GgufVocabulary(metadata, name).read();
}

}  // namespace ptrain

#include "core/data/text/tokenizer_json.h"

#include "core/base/errors.h"
#include "core/io/atomic_file.h"

#include <fmt/ranges.h>

#include <algorithm>
#include <array>
#include <optional>
#include <utility>

namespace ptrain {
namespace {

using nlohmann::json;

const std::string& get_string(const json& value) { return value.get_ref<const std::string&>(); }

constexpr std::int64_t most_tokens = 1'000'000;  // four times as many as the largest published vocabularies have
constexpr std::size_t most_steps = 4;            // of normalisation and of decoding
constexpr std::size_t longest_replacement = 8;   // bytes: with few steps it bounds how much a text can grow

/// Tokens that end a text, the likeliest first.
constexpr std::array<std::string_view, 5> end_tokens{"<|endoftext|>", "<|end_of_text|>", "<|im_end|>", "<|eot_id|>",
                                                     "</s>"};

/// The start of a value as JSON.
std::string print_json(const json& value) {
  constexpr std::size_t most = 80;
  const std::string text = value.dump(-1, ' ', true, json::error_handler_t::replace);
  return text.size() > most ? text.substr(0, most) + "..." : text;
}

/// A field of `object`; null where it is missing, or `object` is none.
const json& get_field(const json& object, const char* field) {
  static const json missing;
  const auto found = object.is_object() ? object.find(field) : object.end();
  return object.is_object() && found != object.end() ? *found : missing;
}

bool is_true(const json& object, const char* field) { return get_field(object, field) == true; }

class TokenizerJson {
 public:
  TokenizerJson(const json& file, const std::string& name) : file_(file), name_(name) {}

  BpeParts read(std::string_view end_token) {
    if (!is_tokenizer_json(file_)) fail("{}: not a tokenizer.json: expected a JSON object with a model", name_);
    read_model(get_field(file_, "model"));
    read_added(get_field(file_, "added_tokens"));
    read_normalizer(get_field(file_, "normalizer"));
    read_pre_tokenizer(get_field(file_, "pre_tokenizer"));
    if (parts_.byte_level && parts_.byte_fallback)
      refuse("model.byte_fallback", true, "false, since ByteLevel is used");
    read_decoder(get_field(file_, "decoder"));
    find_special_tokens(end_token);
    read_post_processor(get_field(file_, "post_processor"));
    return std::move(parts_);
  }

 private:
  [[noreturn]] void refuse(const std::string& part, const json& found, std::string_view expected) const {
    fail("{}: {}: {} is not supported: expected {}", name_, part, print_json(found), expected);
  }

  /// The type of a part that is an object; else refused.
  std::string get_type(const json& part, const std::string& where) const {
    if (!get_field(part, "type").is_string()) refuse(where, part, "an object with a type");
    return get_field(part, "type").get<std::string>();
  }

  std::string get_text(const json& part, const char* field, const std::string& where) const {
    if (!get_field(part, field).is_string()) {
      fail("{}: {}: {}: expected a text, got {}", name_, where, field, print_json(get_field(part, field)));
    }
    return get_field(part, field).get<std::string>();
  }

  /// Calls visit(step) for a part, or for each step of a Sequence.
  template <typename Visit>
  void visit_steps(const json& part, const char* list, const std::string& where, std::size_t most, const Visit& visit) {
    if (part.is_null()) return;
    if (get_type(part, where) != "Sequence") return visit(part);
    const json& steps = get_field(part, list);
    if (!steps.is_array()) fail("{}: {}: {}: expected a list", name_, where, list);
    if (steps.size() > most) fail("{}: {}: {} steps, expected at most {}", name_, where, steps.size(), most);
    for (const json& step : steps) visit(step);
  }

  std::int32_t read_id(const std::string& token, const json& id, const std::string& where) {
    if (!id.is_number_unsigned() || id.get<std::uint64_t>() >= static_cast<std::uint64_t>(most_tokens)) {
      fail("{}: {}: token {}: id {}: expected a number from 0 to {}", name_, where, quoted_name(token), print_json(id),
           most_tokens - 1);
    }
    const auto number = id.get<std::size_t>();
    if (parts_.tokens.size() <= number) parts_.tokens.resize(number + 1);
    std::string& written = parts_.tokens[number];
    if (!written.empty() && written != token) {
      fail("{}: {}: {} and {} have the same id {}", name_, where, quoted_name(written), quoted_name(token), number);
    }
    written = token;
    return static_cast<std::int32_t>(number);
  }

  void read_model(const json& model) {
    const json& type = get_field(model, "type");
    if (type == "WordPiece") refuse("model.type", type, "BPE; of WordPiece, the vocabulary in a vocab.txt is read");
    if (type == "Unigram") refuse("model.type", type, "BPE; of Unigram, SentencePiece's .model file is read");
    if (!type.is_null() && type != "BPE") refuse("model.type", type, "BPE");
    for (const char* field : {"dropout", "continuing_subword_prefix", "end_of_word_suffix"}) {
      const json& value = get_field(model, field);
      const bool is_unset = value.is_null() || value == 0 || (value.is_string() && get_string(value).empty());
      if (!is_unset) refuse(std::string("model.") + field, value, "none");
    }
    const json& vocabulary = get_field(model, "vocab");
    if (!vocabulary.is_object() || vocabulary.empty()) fail("{}: model.vocab: expected tokens with their ids", name_);
    parts_.ids.reserve(vocabulary.size());
    for (const auto& [token, id] : vocabulary.items()) {
      parts_.ids.emplace(token, read_id(token, id, "model.vocab"));
    }
    const json& merges = get_field(model, "merges");
    if (!merges.is_array()) fail("{}: model.merges: expected a list", name_);
    for (std::size_t i = 0; i < merges.size(); ++i) {
      const auto [left, right] = read_merge(merges[i], i);
      const std::int32_t left_id = find_token(left, i), right_id = find_token(right, i);
      parts_.merges.add(left_id, right_id, find_token(left + right, i));
    }
    if (const json& unknown = get_field(model, "unk_token"); !unknown.is_null()) {
      const auto found = unknown.is_string() ? parts_.ids.find(unknown.get<std::string>()) : parts_.ids.end();
      if (found == parts_.ids.end()) fail("{}: model.unk_token: {} is no token", name_, print_json(unknown));
      parts_.unknown = found->second;
    }
    parts_.byte_fallback = is_true(model, "byte_fallback");
    parts_.takes_whole_words = is_true(model, "ignore_merges");
    parts_.joins_unknown = is_true(model, "fuse_unk");
  }

  /// ["a", "b"], or as older files have it "a b".
  std::pair<std::string, std::string> read_merge(const json& merge, std::size_t i) const {
    if (merge.is_array() && merge.size() == 2 && merge[0].is_string() && merge[1].is_string()) {
      return {merge[0].get<std::string>(), merge[1].get<std::string>()};
    }
    const std::string text = merge.is_string() ? merge.get<std::string>() : "";
    const std::size_t space = text.find(' ');
    if (space == text.npos || text.find(' ', space + 1) != text.npos) {
      fail("{}: model.merges: entry {}: {}: expected two tokens", name_, i, print_json(merge));
    }
    return {text.substr(0, space), text.substr(space + 1)};
  }

  std::int32_t find_token(const std::string& token, std::size_t merge) const {
    const auto found = parts_.ids.find(token);
    if (found == parts_.ids.end()) {
      fail("{}: model.merges: entry {}: {} is not a token of the vocabulary", name_, merge, quoted_name(token));
    }
    return found->second;
  }

  void read_added(const json& added) {
    if (!added.is_null() && !added.is_array()) fail("{}: added_tokens: expected a list", name_);
    for (const json& token : added) {
      const std::string content = get_text(token, "content", "added_tokens");
      if (content.empty()) continue;
      if (is_true(token, "single_word"))
        refuse("added_tokens: " + quoted_name(content), "single_word", "no such token");
      parts_.added.push_back({content, read_id(content, get_field(token, "id"), "added_tokens"),
                              is_true(token, "lstrip"), is_true(token, "rstrip"), is_true(token, "normalized")});
    }
  }

  /// What a Replace step looks for, and puts in its place.
  std::pair<std::string, std::string> read_replacement(const json& step, const std::string& where) const {
    const json& from = get_field(get_field(step, "pattern"), "String");
    const std::string to = get_text(step, "content", where);
    if (!from.is_string() || get_string(from).empty() || to.size() > longest_replacement) {
      refuse(where, step, fmt::format("a Replace of a String by at most {} bytes", longest_replacement));
    }
    return {from.get<std::string>(), to};
  }

  void read_normalizer(const json& normalizer) {
    const std::string where = "normalizer";
    visit_steps(normalizer, "normalizers", where, most_steps, [&](const json& step) {
      const std::string type = get_type(step, where);
      if (type == "NFC") {
        parts_.normalizers.push_back({Normalizer::Kind::nfc});
      } else if (type == "Prepend") {
        const std::string mark = get_text(step, "prepend", where);
        if (mark.size() > longest_replacement)
          refuse(where, step, fmt::format("at most {} bytes", longest_replacement));
        parts_.normalizers.push_back({Normalizer::Kind::prepend, "", mark});
      } else if (type == "Replace") {
        const auto [from, to] = read_replacement(step, where);
        parts_.normalizers.push_back({Normalizer::Kind::replace, from, to});
      } else {
        refuse(where, type, "NFC, Prepend, Replace or a Sequence of them");
      }
    });
  }

  void read_pre_tokenizer(const json& pre_tokenizer) {
    const std::string where = "pre_tokenizer";
    visit_steps(pre_tokenizer, "pretokenizers", where, most_steps, [&](const json& step) {
      const std::string type = get_type(step, where);
      if (type == "Digits") {
        parts_.splits.push_back(
            {SplitRule::Kind::digits, is_true(step, "individual_digits") ? std::size_t{1} : std::size_t{0}});
      } else if (type == "ByteLevel") {
        if (is_true(step, "add_prefix_space")) refuse(where, step, "add_prefix_space false");
        if (get_field(step, "use_regex") != false) parts_.splits.push_back({SplitRule::Kind::gpt2, 0});
        parts_.byte_level = true;
      } else if (type == "Split") {
        parts_.splits.push_back(read_split(step, where));
      } else if (type == "Metaspace") {
        read_metaspace(step, where);
      } else {
        refuse(where, type, "ByteLevel, Digits, Metaspace, Split or a Sequence of them");
      }
    });
    if (parts_.metaspace && (parts_.byte_level || !parts_.splits.empty())) {
      refuse(where, "Metaspace", "no other step with it");
    }
  }

  SplitRule read_split(const json& step, const std::string& where) const {
    const json& regex = get_field(get_field(step, "pattern"), "Regex");
    const auto rule = regex.is_string() ? find_split_rule(regex.get<std::string>()) : std::nullopt;
    if (!rule) refuse(where + ": Split", get_field(step, "pattern"), "the Regex of GPT-2, Llama 3 or Qwen");
    if (get_field(step, "behavior") != "Isolated" || is_true(step, "invert")) refuse(where, step, "behavior Isolated");
    return *rule;
  }

  void read_metaspace(const json& step, const std::string& where) {
    const std::string mark = get_text(step, "replacement", where);
    const json& scheme = get_field(step, "prepend_scheme");
    if (mark.empty() || mark.size() > longest_replacement) refuse(where, step, "a short replacement");
    if (get_field(step, "split") != false) refuse(where, step, "split false");
    if (scheme == "never") {
      parts_.metaspace = Metaspace{mark, Metaspace::Prepend::never};
    } else if (scheme == "first") {
      parts_.metaspace = Metaspace{mark, Metaspace::Prepend::first};
    } else if (scheme == "always" || scheme.is_null()) {
      parts_.metaspace = Metaspace{mark, Metaspace::Prepend::always};
    } else {
      refuse(where, step, "prepend_scheme never, first or always");
    }
  }

  void read_decoder(const json& decoder) {
    const std::string where = "decoder";
    visit_steps(decoder, "decoders", where, most_steps + 1, [&](const json& step) {
      const std::string type = get_type(step, where);
      if (type == "Replace") {
        parts_.decoded.push_back(read_replacement(step, where));
      } else if (type == "Metaspace") {
        parts_.decoded.emplace_back(get_text(step, "replacement", where), " ");
        if (get_field(step, "prepend_scheme") != "never") parts_.dropped_spaces = 1;
      } else if (type == "Strip") {
        const json& start = get_field(step, "start");
        if (get_field(step, "content") != " " || !start.is_number_integer() || start < 0 ||
            get_field(step, "stop") != 0) {
          refuse(where, step, "a Strip of spaces at the start");
        }
        parts_.dropped_spaces = start.get<std::size_t>();
      } else if (type != "ByteLevel" && type != "ByteFallback" && type != "Fuse") {
        refuse(where, type, "ByteLevel, ByteFallback, Fuse, Metaspace, Replace, Strip or a Sequence of them");
      }
    });
    for (const auto& [from, to] : parts_.decoded) {
      if (from.empty()) refuse(where, decoder, "a replacement of something");
    }
  }

  std::optional<std::int32_t> find_written(std::string_view token) const {
    const auto added = std::ranges::find(parts_.added, token, &AddedToken::content);
    if (added != parts_.added.end()) return added->id;
    const auto found = parts_.ids.find(token);
    return found == parts_.ids.end() ? std::nullopt : std::optional(found->second);
  }

  std::int32_t find_end_token(std::string_view end_token) const {
    if (!end_token.empty()) {
      if (const auto id = find_written(end_token)) return *id;
      fail("{}: has no token {}, which is said to end a text", name_, quoted_name(end_token));
    }
    for (const std::string_view token : end_tokens) {
      if (const auto id = find_written(token)) return *id;
    }
    fail(
        "{}: has none of the usual tokens that end a text ({}): expected eos_token in a tokenizer_config.json beside "
        "it",
        name_, fmt::join(end_tokens, ", "));
  }

  void find_special_tokens(std::string_view end_token) {
    const std::int32_t end = find_end_token(end_token);
    parts_.special = {.first = end, .separator = end, .pad = end, .between = 1, .second_type = 0};
  }

  /// Of what is put around texts, RoBERTa's form, and the token that a template begins with.
  void read_post_processor(const json& processor) {
    const std::string where = "post_processor";
    visit_steps(processor, "processors", where, most_steps, [&](const json& step) {
      const std::string type = get_type(step, where);
      if (type == "RobertaProcessing") read_roberta(step);
      if (type == "TemplateProcessing") read_template(step);
    });
  }

  void read_template(const json& processor) {
    const json& single = get_field(processor, "single");
    const json& begin = single.is_array() && !single.empty() ? get_field(single[0], "SpecialToken") : single;
    if (!get_field(begin, "id").is_string()) return;  // begins with the text
    parts_.special.begin = find_written(get_field(begin, "id").get<std::string>());
    if (!parts_.special.begin) {
      fail("{}: post_processor: single: {} is no token", name_, print_json(get_field(begin, "id")));
    }
  }

  void read_roberta(const json& processor) {
    const auto find = [&](const char* field) {
      const json& pair = get_field(processor, field);
      const json& token = pair.is_array() && !pair.empty() ? pair[0] : pair;
      const auto id = token.is_string() ? find_written(token.get<std::string>()) : std::nullopt;
      if (!id) fail("{}: post_processor: {}: {} is no token", name_, field, print_json(token));
      return *id;
    };
    parts_.special.first = find("cls");
    parts_.special.separator = find("sep");
    parts_.special.pad = find_written("<pad>").value_or(parts_.special.separator);
    parts_.special.between = 2;
  }

  const json& file_;
  const std::string& name_;
  BpeParts parts_;
};

}  // namespace

bool is_tokenizer_json(const json& file) { return get_field(file, "model").is_object(); }

BpeParts read_tokenizer_json(const json& file, const std::string& name, std::string_view end_token) {
  return TokenizerJson(file, name).read(end_token);
}

}  // namespace ptrain

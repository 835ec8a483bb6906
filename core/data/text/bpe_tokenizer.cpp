#include "core/data/text/bpe_tokenizer.h"

#include <utf8proc.h>

#include <algorithm>
#include <cstdlib>
#include <memory>
#include <unordered_map>

namespace ptrain {
namespace {

/// Characters in their composed form (NFC); bytes that are not UTF-8 leave the text as it is.
std::string compose_characters(std::string_view text) {
  constexpr unsigned char first_changed = 0xCC;  // UTF-8 of U+0300, the first character that composition changes
  if (std::ranges::none_of(text, [](char byte) { return static_cast<unsigned char>(byte) >= first_changed; })) {
    return std::string(text);
  }
  utf8proc_uint8_t* composed = nullptr;
  const utf8proc_ssize_t size =
      utf8proc_map(reinterpret_cast<const utf8proc_uint8_t*>(text.data()), static_cast<utf8proc_ssize_t>(text.size()),
                   &composed, static_cast<utf8proc_option_t>(UTF8PROC_STABLE | UTF8PROC_COMPOSE));
  const std::unique_ptr<utf8proc_uint8_t, decltype(&std::free)> owner(composed, &std::free);
  if (size < 0) return std::string(text);
  return {reinterpret_cast<const char*>(composed), static_cast<std::size_t>(size)};
}

std::string replace_all(std::string_view text, std::string_view from, std::string_view to) {
  std::string result;
  for (std::size_t at = text.find(from); at != text.npos; at = text.find(from)) {
    result.append(text.substr(0, at)).append(to);
    text.remove_prefix(at + from.size());
  }
  return result.append(text);
}

/// The token of a byte of a character that has none.
std::string fallback_token(std::size_t byte) { return fmt::format("<0x{:02X}>", byte); }

/// The bytes that a byte-level vocabulary writes as `token`; `token` itself if it has a character that stands for none.
std::string decode_written(std::string_view token, const std::unordered_map<std::string_view, char>& bytes) {
  std::string text;
  for (std::string_view rest = token; !rest.empty();) {
    const std::string_view character = rest.substr(0, first_character(rest).bytes);
    const auto byte = bytes.find(character);
    if (byte == bytes.end()) return std::string(token);
    text.push_back(byte->second);
    rest.remove_prefix(character.size());
  }
  return text;
}

}  // namespace

std::array<std::string, 256> list_written_bytes() {
  std::array<std::string, 256> written;
  std::int32_t other = 0x100;
  for (std::int32_t byte = 0; byte < 256; ++byte) {
    const bool printable = (byte >= '!' && byte <= '~') || (byte >= 0xA1 && byte <= 0xFF && byte != 0xAD);
    utf8proc_uint8_t bytes[4];
    const utf8proc_ssize_t count = utf8proc_encode_char(printable ? byte : other++, bytes);
    written[static_cast<std::size_t>(byte)].assign(reinterpret_cast<const char*>(bytes),
                                                   static_cast<std::size_t>(count));
  }
  return written;
}

BpeTokenizer::BpeTokenizer(BpeParts parts, std::vector<std::string> notes)
    : parts_(std::move(parts)), written_(list_written_bytes()) {
  special_tokens_ = parts_.special;
  notes_ = std::move(notes);
  bytes_.fill(-1);
  for (std::size_t byte = 0; byte < bytes_.size() && (parts_.byte_level || parts_.byte_fallback); ++byte) {
    const auto found = parts_.ids.find(parts_.byte_level ? written_[byte] : fallback_token(byte));
    if (found != parts_.ids.end()) bytes_[byte] = found->second;
  }
  for (AddedToken& token : parts_.added) {
    if (token.normalized) token.content = normalize(token.content);
    if (!token.content.empty()) (token.normalized ? normalized_ : added_).add(token);
  }
  decode_tokens();
}

void BpeTokenizer::decode_tokens() {
  std::unordered_map<std::string_view, char> bytes;
  for (std::size_t byte = 0; byte < written_.size(); ++byte) bytes.emplace(written_[byte], static_cast<char>(byte));
  texts_.reserve(parts_.tokens.size());
  for (const std::string& token : parts_.tokens) {
    std::string& text = texts_.emplace_back(parts_.byte_level ? decode_written(token, bytes) : token);
    for (const auto& [from, to] : parts_.decoded) text = replace_all(text, from, to);
  }
  for (std::size_t byte = 0; byte < bytes_.size(); ++byte) {
    if (bytes_[byte] >= 0) texts_[static_cast<std::size_t>(bytes_[byte])] = std::string(1, static_cast<char>(byte));
  }
}

std::string BpeTokenizer::decode(std::span<const std::int32_t> ids) const {
  std::string text;
  for (const std::int32_t id : ids) {
    // A model may have more rows than the vocabulary has tokens.
    if (static_cast<std::size_t>(id) < texts_.size()) text += texts_[static_cast<std::size_t>(id)];
  }
  const std::size_t spaces = std::min(text.find_first_not_of(' '), text.size());
  return text.substr(std::min(spaces, parts_.dropped_spaces));
}

std::string BpeTokenizer::normalize(std::string_view text) const {
  std::string normal(text);
  for (const Normalizer& normalizer : parts_.normalizers) {
    switch (normalizer.kind) {
      case Normalizer::Kind::nfc:
        normal = compose_characters(normal);
        break;
      case Normalizer::Kind::prepend:
        if (!normal.empty()) normal.insert(0, normalizer.to);
        break;
      case Normalizer::Kind::replace:
        normal = replace_all(normal, normalizer.from, normalizer.to);
        break;
    }
  }
  return normal;
}

void BpeTokenizer::tokenize(std::string_view text, std::vector<std::int32_t>& ids) const {
  for (const TextPart& part : added_.split(text)) {
    if (part.token >= 0) {
      ids.push_back(part.token);
      continue;
    }
    const std::string normal = normalize(part.text);
    for (const TextPart& plain : normalized_.split(normal)) {
      const bool is_start = part.text.data() == text.data() && plain.text.data() == normal.data();
      plain.token >= 0 ? ids.push_back(plain.token) : tokenize_plain(plain.text, is_start, ids);
    }
  }
}

void BpeTokenizer::tokenize_plain(std::string_view text, bool is_start, std::vector<std::int32_t>& ids) const {
  if (!parts_.metaspace) return split_words(text, 0, ids);
  const auto& [mark, prepend] = *parts_.metaspace;
  std::string marked = replace_all(text, " ", mark);
  const bool may_prepend = prepend == Metaspace::Prepend::always || (prepend == Metaspace::Prepend::first && is_start);
  if (may_prepend && !marked.starts_with(mark)) marked.insert(0, mark);
  split_words(marked, 0, ids);
}

void BpeTokenizer::split_words(std::string_view text, std::size_t rule, std::vector<std::int32_t>& ids) const {
  if (rule == parts_.splits.size()) return tokenize_word(text, ids);
  while (!text.empty()) {
    const std::size_t length = parts_.splits[rule].first_word(text);
    split_words(text.substr(0, length), rule + 1, ids);
    text.remove_prefix(length);
  }
}

void BpeTokenizer::tokenize_word(std::string_view word, std::vector<std::int32_t>& ids) const {
  if (parts_.takes_whole_words) {
    const auto whole = parts_.byte_level ? parts_.ids.find(write_bytes(word)) : parts_.ids.find(word);
    if (whole != parts_.ids.end()) return ids.push_back(whole->second);
  }
  std::vector<std::int32_t> tokens;
  parts_.byte_level ? append_bytes(word, tokens) : append_characters(word, tokens);
  parts_.merges.join(tokens);
  ids.insert(ids.end(), tokens.begin(), tokens.end());
}

std::string BpeTokenizer::write_bytes(std::string_view word) const {
  std::string written;
  for (const char byte : word) written += written_[static_cast<unsigned char>(byte)];
  return written;
}

void BpeTokenizer::append_bytes(std::string_view word, std::vector<std::int32_t>& tokens) const {
  bool after_unknown = false;
  for (const char byte : word) {
    const std::int32_t token = bytes_[static_cast<unsigned char>(byte)];
    if (token >= 0) {
      tokens.push_back(token);
    } else if (parts_.unknown && !(parts_.joins_unknown && after_unknown)) {
      tokens.push_back(*parts_.unknown);
    }
    after_unknown = token < 0;
  }
}

void BpeTokenizer::append_characters(std::string_view word, std::vector<std::int32_t>& tokens) const {
  bool after_unknown = false;
  while (!word.empty()) {
    const std::string_view character = word.substr(0, first_character(word).bytes);
    word.remove_prefix(character.size());
    const auto found = parts_.ids.find(character);
    const bool has_bytes =
        std::ranges::all_of(character, [&](char byte) { return bytes_[static_cast<unsigned char>(byte)] >= 0; });
    if (found != parts_.ids.end()) {
      tokens.push_back(found->second);
    } else if (has_bytes) {
      for (const char byte : character) tokens.push_back(bytes_[static_cast<unsigned char>(byte)]);
    } else if (parts_.unknown && !(parts_.joins_unknown && after_unknown)) {
      tokens.push_back(*parts_.unknown);
    }
    after_unknown = found == parts_.ids.end() && !has_bytes;
  }
}

}  // namespace ptrain

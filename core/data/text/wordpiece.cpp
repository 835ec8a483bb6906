// Greedy longest-match-first over the vocabulary.
#include "core/data/text/wordpiece.h"

#include "core/base/errors.h"
#include "core/base/utf8.h"
#include "core/data/file_bytes.h"
#include "core/data/text/bert_text.h"

#include <algorithm>
#include <array>
#include <map>

namespace ptrain {
namespace {

constexpr std::size_t longest_word = 100;  // characters; a longer one is [UNK]
constexpr std::array<std::string_view, 5> special_tokens{"[PAD]", "[UNK]", "[CLS]", "[SEP]", "[MASK]"};

/// Lines that repeat something: how many, and the first.
struct Repeats {
  std::size_t count = 0, line = 0;

  void add(std::size_t at) {
    if (count++ == 0) line = at;
  }
};

/// The token of a line, which may be followed by a tab and its number, as in ERNIE's published vocabulary.
std::string_view read_token(std::string_view line, std::size_t number, const std::filesystem::path& vocab) {
  const std::size_t tab = line.find('\t');
  if (tab == line.npos) return line;
  if (line.substr(tab + 1) == std::to_string(number - 1)) return line.substr(0, tab);
  fail("{}:{}: expected {} after the tab, since a token's number is that of its line", vocab.string(), number,
       number - 1);
}

}  // namespace

WordPiece WordPiece::from_file(const std::filesystem::path& vocab, TextCase text_case) {
  std::vector<std::uint8_t> bytes;
  read_file(vocab, bytes);
  std::vector<std::string> tokens;
  std::string_view rest(reinterpret_cast<const char*>(bytes.data()), bytes.size());
  rest = without_byte_order_mark(rest);
  if (rest.find('\0') != rest.npos) fail("{}: not a text file (byte 0x00): compressed, or UTF-16?", vocab.string());
  if (has_lone_returns(rest)) fail("{}: {}", vocab.string(), lone_returns_message);
  std::map<std::string_view, std::size_t> lines;
  Repeats repeated, blank;
  while (!rest.empty()) {
    const std::size_t end = std::min(rest.find('\n'), rest.size());
    std::string_view line = rest.substr(0, end);
    if (line.ends_with('\r')) line.remove_suffix(1);
    const std::size_t number = tokens.size() + 1;
    line = read_token(line, number, vocab);
    if (rest.find_first_not_of("\r\n") == rest.npos) break;  // blank lines at the end
    if (line.empty()) {
      blank.add(number);
    } else if (!lines.emplace(line, number).second) {
      repeated.add(number);
    }
    tokens.emplace_back(line);
    rest.remove_prefix(std::min(end + 1, rest.size()));
  }
  WordPiece made(std::move(tokens), text_case, vocab.string());
  if (repeated.count > 0) {
    made.notes_.push_back(fmt::format("{}: {} tokens occur again (first: line {}); the last line's number counts",
                                      vocab.string(), repeated.count, repeated.line));
  }
  if (blank.count > 0) {
    made.notes_.push_back(fmt::format("{}: {} blank lines (first: line {}) count as tokens that no text has",
                                      vocab.string(), blank.count, blank.line));
  }
  return made;
}

WordPiece::WordPiece(std::vector<std::string> tokens, TextCase text_case, const std::string& name)
    : tokens_(std::move(tokens)), case_(text_case) {
  if (tokens_.empty()) fail("{}: the vocabulary is empty; expected one token per line", name);
  for (std::size_t i = 0; i < tokens_.size(); ++i) {
    const auto id = static_cast<std::int32_t>(i);
    if (tokens_[i].empty()) continue;  // a blank line
    whole_[tokens_[i]] = id;
    if (tokens_[i].size() > 2 && tokens_[i].starts_with("##")) inside_[tokens_[i].substr(2)] = id;
  }
  special_tokens_ = {
      .first = required("[CLS]", name), .separator = required("[SEP]", name), .pad = required("[PAD]", name)};
  unknown_ = required("[UNK]", name);
}

std::int32_t WordPiece::required(std::string_view token, const std::string& name) const {
  const auto found = whole_.find(token);
  if (found == whole_.end()) fail("{}: not a BERT vocabulary: it has no {}", name, token);
  return found->second;
}

void WordPiece::tokenize(std::string_view text, std::vector<std::int32_t>& ids) const {
  // Special tokens in the text are recognised.
  std::size_t begin = 0;
  for (std::size_t at = text.find('['); at != std::string_view::npos; at = text.find('[', at)) {
    const auto special = std::find_if(special_tokens.begin(), special_tokens.end(), [&](std::string_view token) {
      return text.substr(at).starts_with(token) && whole_.contains(token);
    });
    if (special == special_tokens.end()) {
      ++at;
      continue;
    }
    tokenize_plain(text.substr(begin, at - begin), ids);
    ids.push_back(whole_.find(*special)->second);
    at += special->size();
    begin = at;
  }
  tokenize_plain(text.substr(begin), ids);
}

void WordPiece::tokenize_plain(std::string_view text, std::vector<std::int32_t>& ids) const {
  std::string buffer;
  buffer.reserve(text.size() * 2);
  split_words(text, case_, buffer);
  std::string_view words = buffer;
  while (!words.empty()) {
    const std::size_t end = words.find('\n');
    match_word(words.substr(0, end), ids);
    words.remove_prefix(end + 1);
  }
}

void WordPiece::match_word(std::string_view word, std::vector<std::int32_t>& ids) const {
  const std::size_t first = ids.size();
  if (count_characters(word) > longest_word) {
    ids.push_back(unknown_);
    return;
  }
  const TokenIds* vocabulary = &whole_;
  while (!word.empty()) {
    std::size_t length = word.size();
    auto found = vocabulary->find(word);
    while (found == vocabulary->end() && --length > 0) {
      const bool character_boundary = (static_cast<unsigned char>(word[length]) & 0xC0u) != 0x80u;
      if (character_boundary) found = vocabulary->find(word.substr(0, length));
    }
    if (found == vocabulary->end()) {
      ids.resize(first);
      ids.push_back(unknown_);
      return;
    }
    ids.push_back(found->second);
    word.remove_prefix(length);
    vocabulary = &inside_;
  }
}

}  // namespace ptrain

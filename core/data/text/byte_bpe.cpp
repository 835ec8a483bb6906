// Splits text into words by GPT-2's rule; within a word, merges adjacent tokens in the order of merges.txt.
#include "core/data/text/byte_bpe.h"

#include "core/base/errors.h"
#include "core/base/utf8.h"
#include "core/data/text/bert_text.h"
#include "core/io/atomic_file.h"

#include <utf8proc.h>
#include <nlohmann/json.hpp>

#include <algorithm>
#include <queue>

namespace ptrain {
namespace {

constexpr std::string_view mask = "<mask>";
constexpr std::string_view end_of_text = "<|endoftext|>";  // GPT-2's, which replaces all special tokens of RoBERTa's
constexpr std::array<std::string_view, 5> marks{"<s>", "<pad>", "</s>", "<unk>", mask};

/// Bytes as the vocabulary writes them: printable ones of Latin-1 unchanged, the others as U+0100 and on.
std::array<std::string, 256> written_bytes() {
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

enum class CharacterClass { space, letter, number, other };

struct Character {
  CharacterClass kind = CharacterClass::other;
  std::size_t bytes = 0;
};

CharacterClass classify(std::int32_t c) {
  if (is_white_space(c)) return CharacterClass::space;
  const utf8proc_category_t category = utf8proc_category(c);
  if (category >= UTF8PROC_CATEGORY_LU && category <= UTF8PROC_CATEGORY_LO) return CharacterClass::letter;
  if (category >= UTF8PROC_CATEGORY_ND && category <= UTF8PROC_CATEGORY_NO) return CharacterClass::number;
  return CharacterClass::other;
}

/// The first character of `text`, which is not empty; a byte that is not UTF-8 has no class.
Character first_character(std::string_view text) {
  std::int32_t c = 0;
  const utf8proc_ssize_t used = utf8proc_iterate(reinterpret_cast<const utf8proc_uint8_t*>(text.data()),
                                                 static_cast<utf8proc_ssize_t>(text.size()), &c);
  if (used <= 0) return {CharacterClass::other, 1};
  return {classify(c), static_cast<std::size_t>(used)};
}

/// Number of leading bytes of `text` that are characters of `kind`; `last` is set to the length of the last one.
std::size_t count_run(std::string_view text, CharacterClass kind, std::size_t& last) {
  std::size_t length = 0;
  while (length < text.size()) {
    const Character next = first_character(text.substr(length));
    if (next.kind != kind) break;
    last = next.bytes;
    length += next.bytes;
  }
  return length;
}

/// Length in bytes of the first word of `text`, which is not empty: an English contraction's end; letters, digits or
/// others, with at most one space before them; or white space, whose last character belongs to the next word.
std::size_t first_word(std::string_view text) {
  for (const std::string_view end : {"'s", "'t", "'re", "'ve", "'m", "'ll", "'d"}) {
    if (text.starts_with(end)) return end.size();
  }
  std::size_t last = 0;
  const std::size_t space = text.front() == ' ' ? 1 : 0;
  if (space < text.size()) {
    const Character first = first_character(text.substr(space));
    if (first.kind != CharacterClass::space) return space + count_run(text.substr(space), first.kind, last);
  }
  const std::size_t length = count_run(text, CharacterClass::space, last);
  return length < text.size() && length > last ? length - last : length;
}

std::string_view without_trailing_space(std::string_view text) {
  std::size_t end = 0;  // end of the last character that is not a space
  for (std::size_t at = 0; at < text.size();) {
    const Character next = first_character(text.substr(at));
    at += next.bytes;
    if (next.kind != CharacterClass::space) end = at;
  }
  return text.substr(0, end);
}

std::uint64_t pack_pair(std::int32_t left, std::int32_t right) {
  return static_cast<std::uint64_t>(left) << 32 | static_cast<std::uint32_t>(right);
}

/// Two adjacent tokens in a word that can be merged: the lowest rank first, then the leftmost.
struct Candidate {
  std::int32_t rank;
  std::size_t at;  // index of the left one
  std::int32_t left, right;

  bool operator<(const Candidate& other) const { return std::pair(rank, at) > std::pair(other.rank, other.at); }
};

/// A token of vocab.json with its id.
using Entry = std::pair<std::string, nlohmann::json>;

/// The entries in the file's order, also those of a token that occurs again, which a JSON object would lose.
std::vector<Entry> parse_entries(std::string_view text, const std::string& name) {
  std::vector<Entry> entries;
  const auto keep = [&](int depth, nlohmann::json::parse_event_t event, nlohmann::json& parsed) {
    if (depth == 1 && event == nlohmann::json::parse_event_t::key)
      entries.emplace_back(parsed.get<std::string>(), nullptr);
    if (depth == 1 && event == nlohmann::json::parse_event_t::value && !entries.empty()) entries.back().second = parsed;
    return true;
  };
  const nlohmann::json json = nlohmann::json::parse(text, keep, false);
  if (!json.is_object() || json.empty()) fail("{}: expected a JSON object that gives each token its id", name);
  return entries;
}

std::int32_t required(const std::unordered_map<std::string, std::int32_t>& ids, const std::string& token,
                      const std::string& name) {
  const auto found = ids.find(token);
  if (found == ids.end()) fail("{}: not a byte-level BPE's vocabulary: it has no {}", name, token);
  return found->second;
}

}  // namespace

ByteBpe ByteBpe::from_files(const std::filesystem::path& vocab_json) {
  const std::filesystem::path merges = vocabulary_files(vocab_json).back();
  return ByteBpe(read_file(vocab_json), read_file(merges), vocab_json.string(), merges.string());
}

ByteBpe::ByteBpe(std::string_view vocab, std::string_view merges, const std::string& vocab_name,
                 const std::string& merges_name) {
  const Ids ids = read_vocabulary(vocab, vocab_name);
  const std::array<std::string, 256> written = written_bytes();
  for (std::size_t byte = 0; byte < written.size(); ++byte) bytes_[byte] = required(ids, written[byte], vocab_name);
  find_marks(ids, vocab_name);
  read_merges(merges, ids, merges_name);
}

void ByteBpe::find_marks(const Ids& ids, const std::string& name) {
  const bool has_one_mark = !ids.contains("<s>") && ids.contains(std::string(end_of_text));
  const auto find_id = [&](const char* mark) {
    return required(ids, has_one_mark ? std::string(end_of_text) : mark, name);
  };
  special_tokens_ = {
      .first = find_id("<s>"), .separator = find_id("</s>"), .pad = find_id("<pad>"), .between = 2, .second_type = 0};
  unknown_ = find_id("<unk>");
  if (has_one_mark) {
    special_tokens_.between = 1;
    written_.emplace_back(end_of_text, unknown_);
    return;
  }
  for (const std::string_view mark : marks) {
    if (const auto found = ids.find(std::string(mark)); found != ids.end()) written_.emplace_back(*found);
  }
}

ByteBpe::Ids ByteBpe::read_vocabulary(std::string_view text, const std::string& name) {
  const std::vector<Entry> entries = parse_entries(without_byte_order_mark(text), name);
  Ids ids;
  std::vector<bool> taken(entries.size());
  written_tokens_.resize(entries.size());
  std::size_t repeated = 0;
  std::string first_repeated;
  for (const auto& [token, id] : entries) {
    const bool fits = id.is_number_unsigned() && id.get<std::uint64_t>() < taken.size();
    if (!fits || taken[id.get<std::size_t>()]) {
      fail("{}: token {}: id {}: expected each of 0 to {} once", name, quoted_name(token), id.dump(), taken.size() - 1);
    }
    taken[id.get<std::size_t>()] = true;
    written_tokens_[id.get<std::size_t>()] = token;
    if (!ids.insert_or_assign(token, id.get<std::int32_t>()).second && repeated++ == 0) first_repeated = token;
  }
  if (repeated > 0) {
    notes_.push_back(fmt::format("{}: {} tokens occur again (first: {}); the last one's number counts", name, repeated,
                                 quoted_name(first_repeated)));
  }
  vocab_size_ = static_cast<int>(entries.size());
  return ids;
}

void ByteBpe::read_merges(std::string_view text, const Ids& ids, const std::string& name) {
  text = without_byte_order_mark(text);
  if (has_lone_returns(text)) fail("{}: {}", name, lone_returns_message);
  for (std::int64_t number = 1; !text.empty(); ++number) {
    const std::size_t end = std::min(text.find('\n'), text.size());
    std::string_view line = text.substr(0, end);
    text.remove_prefix(std::min(end + 1, text.size()));
    if (line.ends_with('\r')) line.remove_suffix(1);
    if (line.empty() || (number == 1 && line.starts_with("#version"))) continue;
    const std::size_t space = line.find(' ');
    if (space == line.npos || line.find(' ', space + 1) != line.npos) {
      fail("{}:{}: expected two tokens with a space between them", name, number);
    }
    const std::string left(line.substr(0, space)), right(line.substr(space + 1));
    const auto find_id = [&](const std::string& token) {
      const auto found = ids.find(token);
      if (found == ids.end()) fail("{}:{}: \"{}\" is not a token of the vocabulary", name, number, token);
      return found->second;
    };
    const std::uint64_t pair = pack_pair(find_id(left), find_id(right));
    const auto rank = static_cast<std::int32_t>(merges_.size());
    merges_.try_emplace(pair, Merge{rank, find_id(left + right)});
  }
}

const ByteBpe::Merge* ByteBpe::find_merge(std::int32_t left, std::int32_t right) const {
  const auto found = merges_.find(pack_pair(left, right));
  return found == merges_.end() ? nullptr : &found->second;
}

void ByteBpe::tokenize(std::string_view text, std::vector<std::int32_t>& ids) const {
  std::size_t begin = 0;
  for (std::size_t at = text.find('<'); at != text.npos; at = text.find('<', at)) {
    const auto mark = std::find_if(written_.begin(), written_.end(),
                                   [&](const auto& known) { return text.substr(at).starts_with(known.first); });
    if (mark == written_.end()) {
      ++at;
      continue;
    }
    const std::string_view before = text.substr(begin, at - begin);
    tokenize_plain(mark->first == mask ? without_trailing_space(before) : before, ids);
    ids.push_back(mark->second);
    begin = at += mark->first.size();
  }
  tokenize_plain(text.substr(begin), ids);
}

std::string ByteBpe::decode(std::span<const std::int32_t> ids) const {
  const std::array<std::string, 256> written = written_bytes();
  std::unordered_map<std::string_view, char> bytes;
  for (std::size_t byte = 0; byte < written.size(); ++byte) bytes.emplace(written[byte], static_cast<char>(byte));
  std::string text;
  for (const std::int32_t id : ids) {
    std::string_view token = written_tokens_[static_cast<std::size_t>(id)];
    while (!token.empty()) {
      const std::string_view character = token.substr(0, first_character(token).bytes);
      const auto byte = bytes.find(character);
      byte != bytes.end() ? text.push_back(byte->second) : void(text.append(character));
      token.remove_prefix(character.size());
    }
  }
  return text;
}

void ByteBpe::tokenize_plain(std::string_view text, std::vector<std::int32_t>& ids) const {
  while (!text.empty()) {
    const std::size_t length = first_word(text);
    join_bytes(text.substr(0, length), ids);
    text.remove_prefix(length);
  }
}

void ByteBpe::join_bytes(std::string_view word, std::vector<std::int32_t>& ids) const {
  constexpr std::int32_t joined = -1;  // merged with the token before it
  const std::size_t size = word.size();
  std::vector<std::int32_t> tokens(size);
  std::vector<std::size_t> next(size), previous(size);
  for (std::size_t i = 0; i < size; ++i) {
    tokens[i] = bytes_[static_cast<unsigned char>(word[i])];
    next[i] = i + 1;
    previous[i] = i - 1;  // the first has none: wraps beyond the end; `size` marks the end
  }
  std::priority_queue<Candidate> candidates;
  const auto consider = [&](std::size_t left) {
    if (left >= size || next[left] >= size) return;
    const std::int32_t a = tokens[left], b = tokens[next[left]];
    if (const Merge* merge = find_merge(a, b)) candidates.push({merge->rank, left, a, b});
  };
  for (std::size_t i = 0; i + 1 < size; ++i) consider(i);
  while (!candidates.empty()) {
    const Candidate best = candidates.top();
    candidates.pop();
    const std::size_t right = next[best.at];
    if (tokens[best.at] != best.left || right >= size || tokens[right] != best.right) continue;  // merged meanwhile
    tokens[best.at] = find_merge(best.left, best.right)->joined;
    tokens[right] = joined;
    next[best.at] = next[right];
    if (next[right] < size) previous[next[right]] = best.at;
    consider(previous[best.at]);
    consider(best.at);
  }
  for (std::size_t i = 0; i < size; i = next[i]) ids.push_back(tokens[i]);
}

}  // namespace ptrain

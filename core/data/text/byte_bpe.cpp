#include "core/data/text/byte_bpe.h"

#include "core/base/errors.h"
#include "core/base/utf8.h"
#include "core/io/atomic_file.h"

#include <nlohmann/json.hpp>

#include <algorithm>
#include <utility>
#include <vector>

namespace ptrain {
namespace {

constexpr std::string_view end_of_text = "<|endoftext|>";  // GPT-2's, which replaces all special tokens of RoBERTa's
constexpr std::array<std::string_view, 5> special_tokens{"<s>", "<pad>", "</s>", "<unk>", "<mask>"};

/// A token of vocab.json with its id.
using TokenEntry = std::pair<std::string, nlohmann::json>;

/// The entries in the file's order, also those of a token that occurs again, which a JSON object would lose.
std::vector<TokenEntry> parse_entries(std::string_view text, const std::string& name) {
  std::vector<TokenEntry> entries;
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

class ByteBpeFiles {
 public:
  BpeTokenizer read(std::string_view vocab, std::string_view merges, const std::string& vocab_name,
                    const std::string& merges_name) {
    read_vocabulary(vocab, vocab_name);
    for (const std::string& byte : list_written_bytes()) find(byte, vocab_name);
    find_marks(vocab_name);
    read_merges(merges, merges_name);
    parts_.byte_level = true;
    parts_.splits = {SplitRule{SplitRule::Kind::gpt2, 0}};
    return BpeTokenizer(std::move(parts_), std::move(notes_));
  }

 private:
  std::int32_t find(std::string_view token, const std::string& name) const {
    const auto found = parts_.ids.find(token);
    if (found == parts_.ids.end()) fail("{}: not a byte-level BPE's vocabulary: it has no {}", name, token);
    return found->second;
  }

  void read_vocabulary(std::string_view text, const std::string& name) {
    const std::vector<TokenEntry> entries = parse_entries(without_byte_order_mark(text), name);
    std::vector<bool> taken(entries.size());
    parts_.tokens.resize(entries.size());
    std::size_t repeated = 0;
    std::string first_repeated;
    for (const auto& [token, id] : entries) {
      const bool fits = id.is_number_unsigned() && id.get<std::uint64_t>() < taken.size();
      if (!fits || taken[id.get<std::size_t>()]) {
        fail("{}: token {}: id {}: expected each of 0 to {} once", name, quoted_name(token), id.dump(),
             taken.size() - 1);
      }
      taken[id.get<std::size_t>()] = true;
      parts_.tokens[id.get<std::size_t>()] = token;
      const bool is_new = parts_.ids.insert_or_assign(token, id.get<std::int32_t>()).second;
      if (!is_new && repeated++ == 0) first_repeated = token;
    }
    if (repeated > 0) {
      notes_.push_back(fmt::format("{}: {} tokens occur again (first: {}); the last one's number counts", name,
                                   repeated, quoted_name(first_repeated)));
    }
  }

  void find_marks(const std::string& name) {
    const bool has_one_mark = !parts_.ids.contains("<s>") && parts_.ids.contains(end_of_text);
    const auto find_id = [&](std::string_view mark_name) { return find(has_one_mark ? end_of_text : mark_name, name); };
    parts_.special = {.first = find_id("<s>"),
                      .separator = find_id("</s>"),
                      .pad = find_id("<pad>"),
                      .between = has_one_mark ? std::size_t{1} : std::size_t{2},
                      .second_type = 0};
    parts_.unknown = find_id("<unk>");
    if (has_one_mark) {
      parts_.added.push_back({std::string(end_of_text), *parts_.unknown});
      return;
    }
    for (const std::string_view mark : special_tokens) {
      const auto found = parts_.ids.find(mark);
      if (found == parts_.ids.end()) continue;
      parts_.added.push_back({found->first, found->second, mark == "<mask>"});
    }
  }

  void read_merges(std::string_view text, const std::string& name) {
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
        const auto found = parts_.ids.find(token);
        if (found == parts_.ids.end()) fail("{}:{}: \"{}\" is not a token of the vocabulary", name, number, token);
        return found->second;
      };
      const std::int32_t left_id = find_id(left), right_id = find_id(right);
      parts_.merges.add(left_id, right_id, find_id(left + right));
    }
  }

  BpeParts parts_;
  std::vector<std::string> notes_;
};

}  // namespace

BpeTokenizer read_byte_bpe(std::string_view vocab, std::string_view merges, const std::string& vocab_name,
                           const std::string& merges_name) {
  return ByteBpeFiles().read(vocab, merges, vocab_name, merges_name);
}

}  // namespace ptrain

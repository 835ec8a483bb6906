#include "core/data/text/added_tokens.h"

#include "core/data/text/word_split.h"

#include <algorithm>
#include <utility>

namespace ptrain {
namespace {

/// Where the white space that `text` ends with begins.
std::size_t find_trailing_space(std::string_view text) {
  std::size_t begin = 0;
  for (std::size_t at = 0; at < text.size();) {
    const Character next = first_character(text.substr(at));
    at += next.bytes;
    if (next.kind != CharacterClass::space) begin = at;
  }
  return begin;
}

std::size_t count_leading_space(std::string_view text) {
  std::size_t count = 0;
  while (count < text.size()) {
    const Character next = first_character(text.substr(count));
    if (next.kind != CharacterClass::space) break;
    count += next.bytes;
  }
  return count;
}

}  // namespace

void AddedTokens::add(AddedToken token) {
  std::vector<AddedToken>& group = tokens_[static_cast<unsigned char>(token.content.front())];
  const auto shorter = std::find_if(
      group.begin(), group.end(), [&](const AddedToken& other) { return other.content.size() < token.content.size(); });
  group.insert(shorter, std::move(token));
}

const AddedToken* AddedTokens::find(std::string_view text) const {
  const std::vector<AddedToken>& group = tokens_[static_cast<unsigned char>(text.front())];
  const auto found = std::find_if(group.begin(), group.end(),
                                  [&](const AddedToken& token) { return text.starts_with(token.content); });
  return found == group.end() ? nullptr : &*found;
}

std::vector<TextPart> AddedTokens::split(std::string_view text) const {
  std::vector<TextPart> parts;
  std::size_t begin = 0;  // of the text that has no part yet
  for (std::size_t at = 0; at < text.size();) {
    const AddedToken* const token = find(text.substr(at));
    if (token == nullptr) {
      ++at;
      continue;
    }
    const std::string_view before = text.substr(begin, at - begin);
    const std::size_t kept = token->strips_left ? find_trailing_space(before) : before.size();
    if (kept > 0) parts.push_back({before.substr(0, kept)});
    std::size_t end = at + token->content.size();
    if (token->strips_right) end += count_leading_space(text.substr(end));
    parts.push_back({text.substr(begin + kept, end - begin - kept), token->id});
    begin = at = end;
  }
  if (begin < text.size()) parts.push_back({text.substr(begin)});
  return parts;
}

}  // namespace ptrain

#include "core/data/text/word_split.h"

#include "core/data/text/bert_text.h"

#include <utf8proc.h>

#include <array>
#include <stdexcept>

namespace ptrain {
namespace {

constexpr std::array<std::string_view, 7> contractions{"'s", "'t", "'re", "'ve", "'m", "'ll", "'d"};

struct KnownRegex {
  std::string_view text;
  SplitRule rule;
};
constexpr std::array<KnownRegex, 3> known_regexes{
    {{R"('s|'t|'re|'ve|'m|'ll|'d| ?\p{L}+| ?\p{N}+| ?[^\s\p{L}\p{N}]+|\s+(?!\S)|\s+)", {SplitRule::Kind::gpt2, 0}},
     {R"((?i:'s|'t|'re|'ve|'m|'ll|'d)|[^\r\n\p{L}\p{N}]?\p{L}+|\p{N}{1,3}| ?[^\s\p{L}\p{N}]+[\r\n]*|\s*[\r\n]+|\s+(?!\S)|\s+)",
      {SplitRule::Kind::llama3, 3}},
     {R"((?i:'s|'t|'re|'ve|'m|'ll|'d)|[^\r\n\p{L}\p{N}]?\p{L}+|\p{N}| ?[^\s\p{L}\p{N}]+[\r\n]*|\s*[\r\n]+|\s+(?!\S)|\s+)",
      {SplitRule::Kind::llama3, 1}}}};

CharacterClass classify(std::int32_t c) {
  if (is_white_space(c)) return CharacterClass::space;
  const utf8proc_category_t category = utf8proc_category(c);
  if (category >= UTF8PROC_CATEGORY_LU && category <= UTF8PROC_CATEGORY_LO) return CharacterClass::letter;
  if (category >= UTF8PROC_CATEGORY_ND && category <= UTF8PROC_CATEGORY_NO) return CharacterClass::number;
  return CharacterClass::other;
}

/// Leading characters of one class.
struct Run {
  std::size_t bytes = 0, last = 0;  // of all, and of the last one
};

/// At most `most` characters of class `kind`; 0: any number.
Run count_run(std::string_view text, CharacterClass kind, std::size_t most = 0) {
  Run run;
  for (std::size_t count = 0; run.bytes < text.size() && (most == 0 || count < most); ++count) {
    const Character next = first_character(text.substr(run.bytes));
    if (next.kind != kind) break;
    run.last = next.bytes;
    run.bytes += next.bytes;
  }
  return run;
}

bool is_line_end(std::int32_t c) { return c == '\n' || c == '\r'; }

/// A letter of ASCII in lower case; the long s is an s in another case.
std::int32_t fold_case(std::int32_t c) {
  constexpr std::int32_t long_s = 0x17F;
  if (c == long_s) return 's';
  return c >= 'A' && c <= 'Z' ? c + 'a' - 'A' : c;
}

/// Length of the start of `text` that is `word`, in any case; 0 if it is something else.
std::size_t match_any_case(std::string_view text, std::string_view word) {
  std::size_t at = 0;
  for (const char letter : word) {
    if (at >= text.size()) return 0;
    const Character next = first_character(text.substr(at));
    if (fold_case(next.code) != letter) return 0;
    at += next.bytes;
  }
  return at;
}

/// White space, without its last character where a word follows, unless it is the only one.
std::size_t count_space(std::string_view text) {
  const Run space = count_run(text, CharacterClass::space);
  return space.bytes < text.size() && space.bytes > space.last ? space.bytes - space.last : space.bytes;
}

/// White space up to its last line end; 0 without one.
std::size_t count_lines(std::string_view text) {
  std::size_t end = 0;
  for (std::size_t at = 0; at < text.size();) {
    const Character next = first_character(text.substr(at));
    if (next.kind != CharacterClass::space) break;
    at += next.bytes;
    if (is_line_end(next.code)) end = at;
  }
  return end;
}

std::size_t first_gpt2_word(std::string_view text) {
  for (const std::string_view end : contractions) {
    if (text.starts_with(end)) return end.size();
  }
  const std::size_t space = text.front() == ' ' ? 1 : 0;
  if (space < text.size()) {
    const Character first = first_character(text.substr(space));
    if (first.kind != CharacterClass::space) return space + count_run(text.substr(space), first.kind).bytes;
  }
  return count_space(text);
}

std::size_t first_llama3_word(std::string_view text, std::size_t most_digits) {
  for (const std::string_view end : contractions) {
    if (const std::size_t length = match_any_case(text, end); length > 0) return length;
  }
  const Character first = first_character(text);
  if (first.kind == CharacterClass::number) return count_run(text, CharacterClass::number, most_digits).bytes;
  const std::size_t before = first.kind == CharacterClass::letter || is_line_end(first.code) ? 0 : first.bytes;
  const std::size_t letters = count_run(text.substr(before), CharacterClass::letter).bytes;
  if (letters > 0) return before + letters;
  const std::size_t space = text.front() == ' ' ? 1 : 0;
  if (const std::size_t others = count_run(text.substr(space), CharacterClass::other).bytes; others > 0) {
    std::size_t end = space + others;
    while (end < text.size() && is_line_end(text[end])) ++end;
    return end;
  }
  if (const std::size_t lines = count_lines(text); lines > 0) return lines;
  return count_space(text);
}

std::size_t first_digits(std::string_view text, std::size_t most_digits) {
  const Run numbers = count_run(text, CharacterClass::number, most_digits);
  std::size_t end = numbers.bytes;
  while (numbers.bytes == 0 && end < text.size()) {
    const Character next = first_character(text.substr(end));
    if (next.kind == CharacterClass::number) break;
    end += next.bytes;
  }
  return end;
}

}  // namespace

Character first_character(std::string_view text) {
  std::int32_t code = -1;
  const utf8proc_ssize_t used = utf8proc_iterate(reinterpret_cast<const utf8proc_uint8_t*>(text.data()),
                                                 static_cast<utf8proc_ssize_t>(text.size()), &code);
  if (used <= 0) return {};
  return {code, classify(code), static_cast<std::size_t>(used)};
}

std::size_t SplitRule::first_word(std::string_view text) const {
  switch (kind) {
    case Kind::gpt2:
      return first_gpt2_word(text);
    case Kind::llama3:
      return first_llama3_word(text, most_digits);
    case Kind::digits:
      return first_digits(text, most_digits);
  }
  throw std::logic_error("internal error: a rule without a first word");
}

std::optional<SplitRule> find_split_rule(std::string_view regex) {
  for (const KnownRegex& known : known_regexes) {
    if (known.text == regex) return known.rule;
  }
  return {};
}

std::string_view llama3_regex(std::size_t most_digits) {
  for (const KnownRegex& known : known_regexes) {
    if (known.rule.kind == SplitRule::Kind::llama3 && known.rule.most_digits == most_digits) return known.text;
  }
  throw std::logic_error("internal error: a rule without a regular expression");
}

}  // namespace ptrain

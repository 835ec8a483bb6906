// The rules by which byte-level tokenisers split text into words before they join bytes: GPT-2's regular expression and
// those of its descendants, written out.
#pragma once

#include <cstddef>
#include <cstdint>
#include <optional>
#include <string_view>

namespace ptrain {

enum class CharacterClass { space, letter, number, other };

struct Character {
  std::int32_t code = -1;  // -1: a byte that is not UTF-8
  CharacterClass kind = CharacterClass::other;
  std::size_t bytes = 1;
};

/// The first character of `text`, which is not empty; a byte that is not UTF-8 is one of class other.
Character first_character(std::string_view text);

/// How a text is split into words.
struct SplitRule {
  enum class Kind {
    gpt2,    // contractions; letters, numbers or others, after at most one space; white space
    llama3,  // also Qwen's: contractions in any case; letters after at most one other character; numbers; others after
             // at most one space, with the line ends that follow; white space up to a line end; white space
    digits   // numbers, and what lies between them
  };
  Kind kind = Kind::gpt2;
  std::size_t most_digits = 0;  // in one word, of llama3 and digits; 0: any number

  /// Length in bytes of the first word of `text`, which is not empty. The last character of white space belongs to the
  /// word after it (gpt2 and llama3).
  std::size_t first_word(std::string_view text) const;
};

/// The rule of a regular expression in tokenizer.json; none for other expressions than GPT-2's, Llama 3's and Qwen's.
std::optional<SplitRule> find_split_rule(std::string_view regex);

/// The regular expression of a rule of llama3's kind.
std::string_view llama3_regex(std::size_t most_digits);

}  // namespace ptrain

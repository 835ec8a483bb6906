// Tokens that are found in a text as they are written, before it is split into words: marks such as <|im_end|>.
#pragma once

#include <array>
#include <cstdint>
#include <string>
#include <string_view>
#include <vector>

namespace ptrain {

struct AddedToken {
  std::string content;  // not empty
  std::int32_t id = 0;
  bool strips_left = false, strips_right = false;  // takes the white space before it, after it along
  bool normalized = false;                         // found in normalised text
};

/// A part of a text: one token, or text without tokens.
struct TextPart {
  std::string_view text;
  std::int32_t token = -1;  // -1: none
};

class AddedTokens {
 public:
  void add(AddedToken token);
  /// The parts of `text`, in order and not empty. The leftmost token counts, of several there the longest.
  std::vector<TextPart> split(std::string_view text) const;

 private:
  const AddedToken* find(std::string_view text) const;

  std::array<std::vector<AddedToken>, 256> tokens_;  // by their first byte, the longest first
};

}  // namespace ptrain

// BERT's text normalisation: splits raw UTF-8 into words as Hugging Face's BertTokenizer does.
#pragma once

#include "core/data/text/tokenizer.h"

#include <string>
#include <string_view>
#include <vector>

namespace ptrain {

/// Splits `text` into words: control characters are removed, text is split at white space, Chinese characters and
/// punctuation are words of their own; with TextCase::lower accents are also stripped (NFD without marks) and letters
/// lower-cased. The words are written to `buffer`, each followed by a newline. Bytes that are not UTF-8 are skipped.
void split_words(std::string_view text, TextCase text_case, std::string& buffer);

/// Unicode's White_Space property.
bool is_white_space(std::int32_t c);

/// Number of code points in valid UTF-8.
std::size_t count_characters(std::string_view text);

}  // namespace ptrain

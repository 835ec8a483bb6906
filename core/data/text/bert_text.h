// BERT's text normalisation: from raw UTF-8 to words, as Hugging Face's BertTokenizer does it.
#pragma once

#include "core/data/text/tokenizer.h"

#include <string>
#include <string_view>
#include <vector>

namespace ptrain {

/// Splits `text` into words: control characters removed, white space split at, Chinese characters and punctuation each
/// a word of their own; with TextCase::lower also accents stripped (NFD without marks) and lower-cased. The words are
/// written to `buffer`, each followed by a newline. Bytes that are not UTF-8 are skipped.
void split_words(std::string_view text, TextCase text_case, std::string& buffer);

/// Unicode's White_Space property.
bool is_white_space(std::int32_t c);

/// Number of code points in valid UTF-8.
std::size_t count_characters(std::string_view text);

}  // namespace ptrain

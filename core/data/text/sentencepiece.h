// SentencePiece's models (Kudo and Richardson 2018), by its own library: BPE and unigram, with their normalisation.
#pragma once

#include "core/data/text/tokenizer.h"

#include <memory>
#include <string>
#include <string_view>

namespace ptrain {

/// The tokeniser of a .model file's content; ids are those of the package sentencepiece. `name` is for messages. Throws
/// Error{failed} naming the file where it is damaged or has no token that ends a text, or where this ptrain was built
/// without the library.
std::unique_ptr<Tokenizer> read_sentencepiece(std::string_view content, const std::string& name);

}  // namespace ptrain

// The byte-level BPE of a vocab.json with a merges.txt beside it, with RoBERTa's special tokens or GPT-2's, depending
// on the vocabulary; ids are those of Hugging Face's RobertaTokenizer and GPT2Tokenizer.
#pragma once

#include "core/data/text/bpe_tokenizer.h"

#include <string>
#include <string_view>

namespace ptrain {

/// The contents of the two files: the vocabulary maps tokens, bytes written as printable characters, to ids; merges
/// have a pair of tokens per line, in order. `vocab_name` and `merges_name` are for messages. Throws Error{failed}
/// naming the file, and a line of merges.txt.
BpeTokenizer read_byte_bpe(std::string_view vocab, std::string_view merges,
                           const std::string& vocab_name = "vocab.json", const std::string& merges_name = "merges.txt");

}  // namespace ptrain

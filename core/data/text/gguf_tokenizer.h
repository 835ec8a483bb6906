// The vocabulary and merges in a GGUF file's metadata (tokenizer.ggml.*), as a tokenizer.json.
#pragma once

#include "core/io/gguf.h"

#include <nlohmann/json.hpp>

#include <string>

namespace ptrain {

struct GgufTokenizer {
  nlohmann::json file;    // as read_tokenizer_json takes it
  std::string end_token;  // empty: the file names none
};

/// Of llama.cpp's kinds "gpt2", a byte-level BPE with merges, and "llama", SentencePiece's BPE with scores. Throws
/// Error{failed}, one line naming the file and the key that is missing, damaged or of another kind.
GgufTokenizer read_gguf_tokenizer(const GgufMetadata& metadata, const std::string& name);

}  // namespace ptrain

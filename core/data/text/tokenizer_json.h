// tokenizer.json, the file of Hugging Face's tokenizers, as far as language models with a BPE use it: GPT-2's, Llama's,
// Qwen's and SmolLM2's.
#pragma once

#include "core/data/text/bpe_tokenizer.h"

#include <nlohmann/json.hpp>

#include <string>
#include <string_view>

namespace ptrain {

/// Whether `file` is a tokenizer.json, and not the vocab.json of a byte-level BPE.
bool is_tokenizer_json(const nlohmann::json& file);

/// Checks a tokenizer.json and takes it apart; ids are those of the package tokenizers without the special tokens that
/// it puts around a text. `end_token` ends a text; empty: the first of the usual ones that is there. `name` is for
/// messages. Throws Error{failed}, one line naming the file and the part that is damaged or of a kind that is not
/// supported.
BpeParts read_tokenizer_json(const nlohmann::json& file, const std::string& name, std::string_view end_token = {});

}  // namespace ptrain

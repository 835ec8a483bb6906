// Encodes sentences with a trained model's own vocabulary.
#pragma once

#include "core/data/dataset.h"
#include "core/data/text/tokenizer.h"
#include "core/runtime/model_artifact.h"

namespace ptrain {

struct Sentences {
  std::string first, second;  // `second` is empty for single sentences
  bool is_pair = false;       // whether an empty `second` is the second sentence of a pair
};

/// Splits a line at a tab into two sentences.
Sentences split_sentences(std::string_view line);

/// Throws Error{failed} if the model has no vocabulary, or it differs from model.json.
std::unique_ptr<Tokenizer> open_vocabulary(const ModelArtifact& model);

class TextEncoder {
 public:
  /// Throws as open_vocabulary does.
  explicit TextEncoder(const ModelArtifact& model);

  /// Writes ids and token types [max_length], padded, and returns the number of tokens before the padding.
  std::int32_t encode(const Sentences& text, Scratch& scratch, std::span<std::int32_t> ids,
                      std::span<std::int32_t> token_types) const;
  /// Counts the tokens of `text`, and those that the vocabulary does not know.
  TokenCount count_unknown(const Sentences& text) const;

 private:
  std::unique_ptr<Tokenizer> tokenizer_;
};

}  // namespace ptrain

// Sources and translations as the tokens of a translator's own vocabulary.
#pragma once

#include "core/runtime/decoding/translator.h"
#include "core/runtime/text_encoder.h"

namespace ptrain {

/// Thread-safe.
class TranslationTokens {
 public:
  /// Throws as open_vocabulary does.
  explicit TranslationTokens(const ModelArtifact& model);

  /// The tokens of a source and the end token; none of a blank one.
  Translator::Ids encode(const std::string& text) const;
  /// Why there are too many, behind the name of their text; empty: there are not.
  std::string explain_excess(const Translator::Ids& source) const;
  std::string decode(const Translator::Ids& translation) const { return tokenizer_->decode(translation); }
  std::int32_t end_id() const { return tokenizer_->end_id(); }

 private:
  std::unique_ptr<Tokenizer> tokenizer_;
  std::int64_t most_;
};

}  // namespace ptrain

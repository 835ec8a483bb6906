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

  /// The tokens of a source and the end token; none of a blank one. Throws Error{`code`} where there are more than the
  /// model reads; `name` begins its message.
  Translator::Ids encode(const std::string& text, const std::string& name, ExitCode code) const;
  std::string decode(const Translator::Ids& translation) const { return tokenizer_->decode(translation); }
  std::int32_t end_id() const { return tokenizer_->end_id(); }

 private:
  std::unique_ptr<Tokenizer> tokenizer_;
  std::int64_t most_;
};

}  // namespace ptrain

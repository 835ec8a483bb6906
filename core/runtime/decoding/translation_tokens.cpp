#include "core/runtime/decoding/translation_tokens.h"

#include <fmt/format.h>

namespace ptrain {

TranslationTokens::TranslationTokens(const ModelArtifact& model)
    : tokenizer_(open_vocabulary(model)), most_(model.data.max_length) {}

Translator::Ids TranslationTokens::encode(const std::string& text) const {
  Translator::Ids ids;
  if (text.find_first_not_of(" \t\r\n") == std::string::npos) return ids;
  tokenizer_->tokenize(text, ids);
  ids.push_back(end_id());
  return ids;
}

std::string TranslationTokens::explain_excess(const Translator::Ids& source) const {
  if (std::ssize(source) <= most_) return {};
  return fmt::format("has {} tokens with the one at its end, expected at most {}, data.max_length of the training",
                     source.size(), most_);
}

}  // namespace ptrain

#include "core/runtime/decoding/translation_tokens.h"

#include <fmt/format.h>

namespace ptrain {

TranslationTokens::TranslationTokens(const ModelArtifact& model)
    : tokenizer_(open_vocabulary(model)), most_(model.data.max_length) {}

Translator::Ids TranslationTokens::encode(const std::string& text, const std::string& name, ExitCode code) const {
  Translator::Ids ids;
  if (text.find_first_not_of(" \t\r\n") == std::string::npos) return ids;
  tokenizer_->tokenize(text, ids);
  ids.push_back(end_id());
  if (std::ssize(ids) <= most_) return ids;
  throw Error(
      code,
      fmt::format("{}: has {} tokens with the one at its end, expected at most {}, data.max_length of the training",
                  name, ids.size(), most_));
}

}  // namespace ptrain

#include "core/runtime/text_encoder.h"

#include "core/base/errors.h"

#include <algorithm>

namespace ptrain {

std::unique_ptr<Tokenizer> open_vocabulary(const ModelArtifact& model) {
  if (!model.has_vocabulary()) {
    fail("{}: has no {}: it was trained on synthetic tokens or on items, and cannot read text", model.folder.string(),
         model_files::vocabulary);
  }
  std::unique_ptr<Tokenizer> tokenizer =
      open_tokenizer(model.vocabulary(), model.document.text->lowercase ? TextCase::lower : TextCase::keep);
  if (tokenizer->vocab_size() != model.data.vocab_size) {
    fail("{}: has {} entries, {} says {}", model.vocabulary().string(), tokenizer->vocab_size(), model_files::document,
         model.data.vocab_size);
  }
  return tokenizer;
}

Sentences split_sentences(std::string_view line) {
  const std::size_t tab = line.find('\t');
  if (tab == line.npos) return {std::string(line), {}, false};
  return {std::string(line.substr(0, tab)), std::string(line.substr(tab + 1)), false};
}

TextEncoder::TextEncoder(const ModelArtifact& model) : tokenizer_(open_vocabulary(model)) {}

std::int32_t TextEncoder::encode(const Sentences& text, Scratch& scratch, std::span<std::int32_t> ids,
                                 std::span<std::int32_t> token_types) const {
  scratch.first_ids.clear();
  scratch.second_ids.clear();
  tokenizer_->tokenize(text.first, scratch.first_ids);
  const bool has_second = text.is_pair || !text.second.empty();
  if (has_second) tokenizer_->tokenize(text.second, scratch.second_ids);
  return tokenizer_->encode_pair(scratch.first_ids, scratch.second_ids, has_second, ids, token_types);
}

TokenCount TextEncoder::count_unknown(const Sentences& text) const {
  std::vector<std::int32_t> ids;
  tokenizer_->tokenize(text.first, ids);
  tokenizer_->tokenize(text.second, ids);
  return {static_cast<std::int64_t>(ids.size()), std::count(ids.begin(), ids.end(), tokenizer_->unknown_id())};
}

}  // namespace ptrain

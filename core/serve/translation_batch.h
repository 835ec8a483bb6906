// Texts of a translator as the tensors that a Batcher joins.
#pragma once

#include "core/data/batch.h"
#include "core/runtime/decoding/translation_tokens.h"

#include <span>
#include <string>
#include <vector>

namespace ptrain {

/// The name of the translations, of [max_length] tokens each.
inline constexpr const char* translation_output = "translations";

/// The sources' tokens [max_length] and their number, 0 of blank ones. Throws Error{usage} naming a text of too many.
Batch make_source_batch(const DatasetInfo& data, const TranslationTokens& tokens, std::span<const std::string> texts);

/// The contents of a row of what translate_batch() answers.
TensorSpec translation_spec(const DatasetInfo& data);
/// Translates the sources of the batch's valid rows; an end token follows each translation that is shorter.
Batch translate_batch(Translator& translator, const DatasetInfo& data, const Batch& sources);

/// The texts of translate_batch()'s translations.
std::vector<std::string> decode_translations(const TranslationTokens& tokens, const HostTensor& translations);

}  // namespace ptrain

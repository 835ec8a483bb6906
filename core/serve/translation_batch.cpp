#include "core/serve/translation_batch.h"

#include "core/base/errors.h"
#include "core/data/tensor_names.h"

#include <algorithm>

namespace ptrain {

Batch make_source_batch(const DatasetInfo& data, const TranslationTokens& tokens, std::span<const std::string> texts) {
  const auto rows = static_cast<std::int64_t>(texts.size());
  const std::vector<TensorSpec> specs{{tensor_names::ids, DType::i32, {data.max_length}},
                                      {tensor_names::lengths, DType::i32, {}}};
  Batch batch(specs, rows);
  batch.count = rows;
  for (std::int64_t row = 0; row < rows; ++row) {
    const auto index = static_cast<std::size_t>(row);
    const Translator::Ids source = tokens.encode(texts[index], fmt::format("text {}", row), ExitCode::usage);
    std::ranges::copy(source, batch.at(tensor_names::ids).row<std::int32_t>(row).begin());
    batch.values<std::int32_t>(tensor_names::lengths)[index] = static_cast<std::int32_t>(source.size());
  }
  return batch;
}

TensorSpec translation_spec(const DatasetInfo& data) {
  return {translation_output, DType::i32, {data.max_length}, data.end_token};
}

Batch translate_batch(Translator& translator, const DatasetInfo& data, const Batch& sources) {
  const auto lengths = sources.values<std::int32_t>(tensor_names::lengths);
  std::vector<Translator::Ids> asked;
  for (std::int64_t row = 0; row < sources.count; ++row) {
    const auto length = static_cast<std::size_t>(lengths[static_cast<std::size_t>(row)]);
    const auto ids = sources.at(tensor_names::ids).row<std::int32_t>(row).first(length);
    asked.emplace_back(ids.begin(), ids.end());
  }
  const std::vector<Translator::Ids> found = translator.translate(asked);
  const std::vector<TensorSpec> specs{translation_spec(data)};
  Batch answers(specs, sources.count);
  answers.fill_padding();
  for (std::size_t i = 0; i < found.size(); ++i) {
    const auto row = answers.at(translation_output).row<std::int32_t>(static_cast<std::int64_t>(i));
    std::ranges::copy(found[i], row.begin());
  }
  answers.count = answers.rows();
  return answers;
}

std::vector<std::string> decode_translations(const TranslationTokens& tokens, const HostTensor& translations) {
  std::vector<std::string> texts;
  for (std::int64_t row = 0; row < translations.rows(); ++row) {
    const auto ids = translations.row<std::int32_t>(row);
    texts.push_back(tokens.decode({ids.begin(), std::ranges::find(ids, tokens.end_id())}));
  }
  return texts;
}

}  // namespace ptrain

#include "core/infer/translation.h"

#include "core/base/errors.h"
#include "core/base/signals.h"
#include "core/infer/inference_sources.h"
#include "core/report/csv.h"
#include "core/runtime/text_encoder.h"

#include <nlohmann/json.hpp>

#include <algorithm>

namespace ptrain {
namespace {

/// Each text's tokens and the end token; none of blank texts.
std::vector<Translator::Ids> encode_sources(const Tokenizer& tokenizer, const std::vector<std::string>& texts,
                                            std::int64_t max_length) {
  std::vector<Translator::Ids> sources;
  for (std::size_t i = 0; i < texts.size(); ++i) {
    Translator::Ids& ids = sources.emplace_back();
    if (texts[i].find_first_not_of(" \t\r") == std::string::npos) continue;
    tokenizer.tokenize(texts[i], ids);
    ids.push_back(tokenizer.end_id());
    if (std::ssize(ids) <= max_length) continue;
    fail("text {} ({}): has {} tokens with the one at its end, expected at most {}, data.max_length of the training",
         i + 1, quoted_name(texts[i]), ids.size(), max_length);
  }
  return sources;
}

}  // namespace

std::vector<std::string> read_sources(const std::vector<std::string>& arguments, std::vector<std::string>& notes) {
  std::vector<std::string> texts;
  for (const std::string& argument : arguments) {
    for (InputLine& line : lines_of_argument(argument, "a .txt file, a text", notes)) {
      texts.push_back(std::move(line.text));
    }
  }
  if (texts.empty()) fail("nothing to translate: no text in the arguments");
  return texts;
}

void translate_texts(const LoadedModel& opened, Backend& backend, const DeployOptions& options,
                     const SearchOptions& search, const std::vector<std::string>& texts,
                     const std::function<void(const TranslatedText&)>& done) {
  const std::unique_ptr<Tokenizer> tokenizer = open_vocabulary(opened.trained);
  const std::vector<Translator::Ids> sources = encode_sources(*tokenizer, texts, options.max_length);
  Translator translator(backend, *opened.model, *opened.task, opened.trained.weights(), options, search,
                        tokenizer->end_id());
  const InterruptibleWork interruptible;
  const auto batch = static_cast<std::size_t>(translator.batch_size());
  for (std::size_t first = 0; first < texts.size(); first += batch) {
    InterruptibleWork::check(fmt::format("after {} of {} texts", first, texts.size()));
    const std::size_t end = std::min(first + batch, texts.size());
    std::vector<Translator::Ids> asked;
    for (std::size_t i = first; i < end; ++i) {
      if (!sources[i].empty()) asked.push_back(sources[i]);
    }
    const std::vector<Translator::Ids> translations = translator.translate(asked);
    auto next = translations.begin();
    for (std::size_t i = first; i < end; ++i) {
      const Translator::Ids ids = sources[i].empty() ? Translator::Ids() : *next++;
      done({texts[i], tokenizer->decode(ids), std::ssize(ids)});
    }
  }
}

std::string translation_header(PredictionFormat format) {
  return format == PredictionFormat::csv ? "input,text\n" : "";
}

std::string translation_line(PredictionFormat format, const TranslatedText& translated) {
  switch (format) {
    case PredictionFormat::text:
      return translated.text + "\n";
    case PredictionFormat::jsonl: {
      const nlohmann::ordered_json line{
          {"input", translated.source}, {"text", translated.text}, {"tokens", translated.tokens}};
      return line.dump(-1, ' ', false, nlohmann::ordered_json::error_handler_t::replace) + "\n";
    }
    case PredictionFormat::csv:
      return fmt::format("{},{}\n", csv_field(translated.source), csv_field(translated.text));
  }
  return {};
}

}  // namespace ptrain

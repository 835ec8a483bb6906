#include "core/infer/translation.h"

#include "core/base/clock.h"
#include "core/base/errors.h"
#include "core/base/signals.h"
#include "core/infer/inference_sources.h"
#include "core/io/atomic_file.h"
#include "core/report/csv.h"
#include "core/runtime/decoding/translation_tokens.h"

#include <nlohmann/json.hpp>

#include <algorithm>

namespace ptrain {
namespace {

std::vector<Translator::Ids> encode_sources(const TranslationTokens& tokens, const std::vector<std::string>& texts) {
  std::vector<Translator::Ids> sources;
  for (std::size_t i = 0; i < texts.size(); ++i) {
    const std::string name = fmt::format("text {} ({})", i + 1, quoted_name(texts[i]));
    sources.push_back(tokens.encode(texts[i], name, ExitCode::failed));
  }
  return sources;
}

}  // namespace

std::vector<std::string> read_sources(const std::vector<std::string>& arguments, std::vector<std::string>& notes) {
  std::vector<std::string> texts;
  for (const std::string& argument : arguments) {
    for (InputLine& line : lines_of_argument(argument, "a file of texts, a text", notes, TextFiles::any)) {
      texts.push_back(std::move(line.text));
    }
  }
  if (texts.empty()) fail("nothing to translate: no text in the arguments");
  return texts;
}

double translate_texts(const LoadedModel& opened, Backend& backend, const DeployOptions& options,
                       const SearchOptions& search, const std::vector<std::string>& texts,
                       const std::function<void(const TranslatedText&)>& done) {
  const TranslationTokens tokens(opened.trained);
  const std::vector<Translator::Ids> sources = encode_sources(tokens, texts);
  Translator translator(backend, *opened.model, *opened.task, opened.trained.weights(), options, search,
                        tokens.end_id());
  const InterruptibleWork interruptible;
  const Stopwatch watch;
  const auto batch = static_cast<std::size_t>(translator.batch_size());
  for (std::size_t first = 0; first < texts.size(); first += batch) {
    InterruptibleWork::check(fmt::format("after {} of {} texts", first, texts.size()));
    const std::size_t end = std::min(first + batch, texts.size());
    const std::vector<Translator::Ids> found = translator.translate(std::span(sources).subspan(first, end - first));
    for (std::size_t i = first; i < end; ++i) {
      const Translator::Ids& ids = found[i - first];
      done({texts[i], tokens.decode(ids), std::ssize(ids)});
    }
  }
  return watch.seconds();
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

#include "core/infer/generation.h"

#include "core/base/errors.h"
#include "core/base/signals.h"
#include "core/infer/inference_sources.h"
#include "core/report/csv.h"
#include "core/runtime/text_encoder.h"

#include <fmt/ranges.h>
#include <nlohmann/json.hpp>

#include <algorithm>

namespace ptrain {
namespace {

/// With plans and a cache for these prompts and their continuations.
DeployOptions fit_to(const std::vector<std::shared_ptr<GeneratedText>>& texts, std::int64_t tokens,
                     DeployOptions options) {
  std::size_t longest = 0;
  for (const auto& text : texts) longest = std::max(longest, text->ids().size());
  options.batch_size = std::min(options.batch_size, static_cast<std::int64_t>(texts.size()));
  options.cache->length = std::min(options.max_length, static_cast<std::int64_t>(longest) + tokens);
  options.max_length = static_cast<std::int64_t>(longest);
  return options;
}

std::vector<std::shared_ptr<GeneratedText>> begin_texts(const Tokenizer& tokenizer, std::int64_t max_length,
                                                        const std::vector<std::string>& prompts,
                                                        const GenerationOptions& options) {
  std::vector<std::shared_ptr<GeneratedText>> texts;
  for (const std::string& prompt : prompts) {
    texts.push_back(std::make_shared<GeneratedText>(tokenizer, prompt, options, max_length, texts.size()));
  }
  return texts;
}

}  // namespace

std::vector<std::string> read_prompts(const std::vector<std::string>& arguments, std::vector<std::string>& notes) {
  std::vector<std::string> prompts;
  for (const std::string& argument : arguments) {
    for (InputLine& line : lines_of_argument(argument, "a .txt file, a text", notes)) {
      if (line.text.empty()) {
        fail("{}:{}: is empty; a prompt needs at least one token",
             argument == "-"    ? "standard input"
             : argument.empty() ? "the command line"
                                : argument,
             line.number);
      }
      prompts.push_back(std::move(line.text));
    }
  }
  if (prompts.empty()) fail("nothing to generate from: no text in {}", fmt::join(arguments, ", "));
  return prompts;
}

TextGenerator::TextGenerator(const LoadedModel& opened, Backend& backend, const DeployOptions& deploy,
                             const std::vector<std::string>& prompts, const GenerationOptions& options)
    : tokenizer_(open_vocabulary(opened.trained)),
      texts_(begin_texts(*tokenizer_, deploy.max_length, prompts, options)),
      decoder_(backend, *opened.model, *opened.task, opened.trained.weights(), fit_to(texts_, options.tokens, deploy)) {
}

void TextGenerator::run(const std::function<void(const Generation&)>& done) {
  const InterruptibleWork interruptible;
  GenerationBatch batch(decoder_);
  std::size_t added = 0, ended = 0;
  while (ended < texts_.size()) {
    InterruptibleWork::check(fmt::format("after {} of {} texts", ended, texts_.size()));
    while (added < texts_.size() && batch.has_room()) batch.add(texts_[added++]);
    batch.step();
    while (ended < texts_.size() && !texts_[ended]->is_open()) done(texts_[ended++]->result());
  }
}

/// Why a text has no more tokens, in the words of JSON lines.
static std::string_view end_reason(const Generation& generation) {
  if (generation.ended) return "end of text";
  if (generation.stopped) return "stop";
  return generation.is_full ? "max_length" : "tokens";
}

std::string generation_header(PredictionFormat format) {
  return format == PredictionFormat::csv ? "input,text,ended\n" : "";
}

std::string generation_line(PredictionFormat format, const Generation& generation) {
  switch (format) {
    case PredictionFormat::text:
      return generation.prompt + generation.text + "\n";
    case PredictionFormat::jsonl: {
      const nlohmann::ordered_json line{
          {"input", generation.prompt},  {"text", generation.text},   {"input_tokens", generation.prompt_tokens},
          {"tokens", generation.tokens}, {"ended", generation.ended}, {"reason", end_reason(generation)}};
      return line.dump(-1, ' ', false, nlohmann::ordered_json::error_handler_t::replace) + "\n";
    }
    case PredictionFormat::csv:
      return fmt::format("{},{},{}\n", csv_field(generation.prompt), csv_field(generation.text), generation.ended);
  }
  return {};
}

}  // namespace ptrain

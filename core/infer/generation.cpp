#include "core/infer/generation.h"

#include "core/base/errors.h"
#include "core/base/rng.h"
#include "core/base/signals.h"
#include "core/data/tensor_names.h"
#include "core/infer/inference_sources.h"
#include "core/io/atomic_file.h"
#include "core/report/csv.h"
#include "core/runtime/text_encoder.h"

#include <fmt/ranges.h>
#include <nlohmann/json.hpp>

#include <algorithm>

namespace ptrain {
namespace {

constexpr std::size_t shown_of_prompts = 60;  // bytes, in messages

std::string shown(const std::string& prompt) { return quoted_name(prompt.substr(0, shown_of_prompts)); }

std::vector<Prompt> encode(const Tokenizer& tokenizer, std::int64_t max_length, const std::vector<std::string>& texts) {
  std::vector<Prompt> prompts;
  for (const std::string& text : texts) {
    std::vector<std::int32_t> ids;
    tokenizer.tokenize(text, ids);
    const auto begin = tokenizer.begin_id();
    if (begin && (ids.empty() || ids.front() != *begin)) ids.insert(ids.begin(), *begin);
    const auto tokens = static_cast<std::int64_t>(ids.size());
    if (tokens == 0 || tokens >= max_length) {
      fail("{}: has {} tokens, expected 1 to {}: the model reads {}", shown(text), tokens, max_length - 1, max_length);
    }
    prompts.push_back({text, std::move(ids)});
  }
  return prompts;
}

/// With plans and a cache for these prompts and their continuations.
DeployOptions fit_to(const std::vector<Prompt>& prompts, std::int64_t tokens, DeployOptions options) {
  std::size_t longest = 0;
  for (const Prompt& prompt : prompts) longest = std::max(longest, prompt.ids.size());
  options.batch_size = std::min(options.batch_size, static_cast<std::int64_t>(prompts.size()));
  options.cache->length = std::min(options.max_length, static_cast<std::int64_t>(longest) + tokens);
  options.max_length = static_cast<std::int64_t>(longest);
  return options;
}

/// The texts of one batch during generation.
class Texts {
 public:
  Texts(const Tokenizer& tokenizer, std::int64_t max_length, std::span<const Prompt> prompts,
        const GenerationOptions& options, std::size_t first_index)
      : tokenizer_(tokenizer), max_length_(max_length), options_(options), first_index_(first_index) {
    for (const Prompt& prompt : prompts) {
      Text& text = texts_.emplace_back();
      text.result.prompt = prompt.text;
      text.ids = prompt.ids;
      text.result.prompt_tokens = static_cast<std::int64_t>(text.ids.size());
      text.open = options.tokens > 0;
    }
  }

  bool open() const {
    return std::any_of(texts_.begin(), texts_.end(), [](const Text& text) { return text.open; });
  }

  /// The tokens of unfinished texts that the decoder has not read. A text's slot is its number in the batch.
  std::vector<NewTokens> new_tokens(const TextDecoder& decoder) const {
    std::vector<NewTokens> tokens;
    for (std::size_t i = 0; i < texts_.size(); ++i) {
      const auto slot = static_cast<std::int64_t>(i);
      const auto read = static_cast<std::size_t>(decoder.length(slot));
      if (texts_[i].open) tokens.push_back({slot, std::span(texts_[i].ids).subspan(read)});
    }
    return tokens;
  }

  /// Appends to each unfinished text the token chosen from its row of the scores.
  void add(const Batch& scores) {
    const HostTensor& logits = scores.at(tensor_names::logits);
    std::int64_t place = -1;
    for (std::size_t i = 0; i < texts_.size(); ++i) {
      Text& text = texts_[i];
      if (!text.open) continue;
      require_finite(scores, ++place, shown(text.result.prompt));
      const RandomStream random{options_.sampling.seed, first_index_ + i, 0};
      const std::int32_t id = choose_token(logits.row<float>(place), text.ids, options_.sampling,
                                           random.uniform(static_cast<std::uint64_t>(text.result.tokens)));
      text.result.ended = id == tokenizer_.end_id();
      if (!text.result.ended) {
        text.ids.push_back(id);
        ++text.result.tokens;
        if (!options_.stops.empty()) cut_at_stop(text);
      }
      const bool ended = text.result.ended || text.result.stopped;
      text.result.is_full =
          !ended && text.result.tokens < options_.tokens && static_cast<std::int64_t>(text.ids.size()) == max_length_;
      text.open = !ended && !text.result.is_full && text.result.tokens < options_.tokens;
    }
  }

  std::vector<Generation> take() {
    std::vector<Generation> results;
    for (Text& text : texts_) {
      if (!text.result.stopped) text.result.text = decode(text);
      results.push_back(std::move(text.result));
    }
    return results;
  }

 private:
  struct Text {
    Generation result;
    std::vector<std::int32_t> ids;
    bool open = true;
  };

  /// The generated part. Decoded with the prompt: some vocabularies drop the space that a text begins with.
  std::string decode(const Text& text) const {
    const auto prompt = std::span(text.ids).first(static_cast<std::size_t>(text.result.prompt_tokens));
    const std::string whole = tokenizer_.decode(text.ids);
    return whole.substr(std::min(tokenizer_.decode(prompt).size(), whole.size()));
  }

  void cut_at_stop(Text& text) const {
    const std::string generated = decode(text);
    std::size_t end = std::string::npos;
    for (const std::string& stop : options_.stops) end = std::min(end, generated.find(stop));
    if (end == std::string::npos) return;
    text.result.stopped = true;
    text.result.text = generated.substr(0, end);
  }

  const Tokenizer& tokenizer_;
  std::int64_t max_length_;
  const GenerationOptions& options_;
  std::size_t first_index_;
  std::vector<Text> texts_;
};

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
                             const std::vector<std::string>& prompts, GenerationOptions options)
    : tokenizer_(open_vocabulary(opened.trained)),
      max_length_(deploy.max_length),
      options_(std::move(options)),
      prompts_(encode(*tokenizer_, max_length_, prompts)),
      decoder_(backend, *opened.model, *opened.task, opened.trained.weights(),
               fit_to(prompts_, options_.tokens, deploy)) {}

void TextGenerator::run(const std::function<void(const Generation&)>& done) {
  const InterruptibleWork interruptible;
  const auto at_once = static_cast<std::size_t>(decoder_.slots());
  for (std::size_t first = 0; first < prompts_.size(); first += at_once) {
    const auto some = std::span(prompts_).subspan(first, std::min(at_once, prompts_.size() - first));
    Texts texts(*tokenizer_, max_length_, some, options_, first);
    for (std::int64_t slot = 0; slot < decoder_.slots(); ++slot) decoder_.clear(slot);
    while (texts.open()) {
      InterruptibleWork::check(fmt::format("after {} of {} texts", first, prompts_.size()));
      texts.add(decoder_.append(texts.new_tokens(decoder_)));
    }
    for (const Generation& one : texts.take()) done(one);
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

// Each token costs a pass over its whole text: there is no key-value cache.
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
#include <cmath>
#include <numeric>

namespace ptrain {
namespace {

constexpr std::size_t shown_of_prompts = 60;  // bytes, in messages

/// The texts of one batch during generation.
class Texts {
 public:
  Texts(const Tokenizer& tokenizer, const DatasetInfo& data, std::span<const std::string> prompts,
        const GenerationOptions& options, std::size_t first_index)
      : tokenizer_(tokenizer), data_(data), options_(options), first_index_(first_index) {
    const std::int64_t max_length = data.max_length;
    for (const std::string& prompt : prompts) {
      Text& text = texts_.emplace_back();
      text.result.prompt = prompt;
      tokenizer.tokenize(prompt, text.ids);
      const auto begin = tokenizer.begin_id();
      if (begin && (text.ids.empty() || text.ids.front() != *begin)) text.ids.insert(text.ids.begin(), *begin);
      const auto tokens = static_cast<std::int64_t>(text.ids.size());
      if (tokens == 0 || tokens >= max_length) {
        fail("{}: has {} tokens, expected 1 to {}: the model reads {}", shown(prompt), tokens, max_length - 1,
             max_length);
      }
      text.result.prompt_tokens = tokens;
      text.open = options.tokens > 0;
    }
  }

  bool open() const {
    return std::any_of(texts_.begin(), texts_.end(), [](const Text& text) { return text.open; });
  }

  /// The model's next input. A finished text is reduced to one token, and its result is ignored.
  Batch batch() const {
    Batch batch(input_tensors(data_), static_cast<std::int64_t>(texts_.size()));
    batch.count = batch.rows();
    for (std::size_t i = 0; i < texts_.size(); ++i) {
      const std::vector<std::int32_t>& ids = texts_[i].ids;
      const std::size_t length = texts_[i].open ? ids.size() : 1;
      const SampleRow row(batch, static_cast<std::int64_t>(i));
      std::copy_n(ids.begin(), length, row.at<std::int32_t>(tensor_names::ids).begin());
      row.set(tensor_names::lengths, static_cast<std::int32_t>(length));
    }
    return batch;
  }

  /// Appends to each unfinished text the token chosen from its row of the scores.
  void add(const Batch& scores) {
    const HostTensor& logits = scores.at(tensor_names::logits);
    for (std::size_t row = 0; row < texts_.size(); ++row) {
      Text& text = texts_[row];
      if (!text.open) continue;
      const auto place = static_cast<std::int64_t>(row);
      require_finite(scores, place, shown(text.result.prompt));
      const RandomStream random{options_.seed, first_index_ + row, 0};
      const std::int32_t id = next_token(logits.row<float>(place), options_,
                                         random.uniform(static_cast<std::uint64_t>(text.result.tokens)));
      text.result.ended = id == tokenizer_.end_id();
      if (!text.result.ended) {
        text.ids.push_back(id);
        ++text.result.tokens;
      }
      text.result.is_full = !text.result.ended && text.result.tokens < options_.tokens &&
                            static_cast<std::int64_t>(text.ids.size()) == data_.max_length;
      text.open = !text.result.ended && !text.result.is_full && text.result.tokens < options_.tokens;
    }
  }

  std::vector<Generation> take() {
    std::vector<Generation> results;
    for (Text& text : texts_) {
      // Decoded with the prompt: some vocabularies drop the space that a text begins with.
      const auto prompt = std::span(text.ids).first(static_cast<std::size_t>(text.result.prompt_tokens));
      const std::string whole = tokenizer_.decode(text.ids);
      text.result.text = whole.substr(std::min(tokenizer_.decode(prompt).size(), whole.size()));
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

  static std::string shown(const std::string& prompt) { return quoted_name(prompt.substr(0, shown_of_prompts)); }

  const Tokenizer& tokenizer_;
  const DatasetInfo& data_;
  const GenerationOptions& options_;
  std::size_t first_index_;
  std::vector<Text> texts_;
};

}  // namespace

std::int32_t next_token(std::span<const float> logits, const GenerationOptions& options, float uniform) {
  std::vector<std::int32_t> ids(logits.size());
  std::iota(ids.begin(), ids.end(), 0);
  const auto logit = [&](std::int32_t id) { return logits[static_cast<std::size_t>(id)]; };
  const auto likelier = [&](std::int32_t a, std::int32_t b) {
    return logit(a) != logit(b) ? logit(a) > logit(b) : a < b;
  };
  const std::size_t top_k = options.temperature > 0 ? options.top_k : 1;
  const std::size_t kept = top_k == 0 ? ids.size() : std::min(top_k, ids.size());
  std::partial_sort(ids.begin(), ids.begin() + static_cast<std::ptrdiff_t>(kept), ids.end(), likelier);
  if (kept == 1) return ids.front();
  std::vector<double> sums(kept);  // of weights relative to the most likely token's
  double sum = 0;
  for (std::size_t i = 0; i < kept; ++i) {
    sums[i] = sum +=
        std::exp(static_cast<double>(logit(ids[i]) - logit(ids[0])) / static_cast<double>(options.temperature));
  }
  const auto drawn = std::upper_bound(sums.begin(), sums.end(), static_cast<double>(uniform) * sum);
  return ids[static_cast<std::size_t>(std::min(drawn, sums.end() - 1) - sums.begin())];
}

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

TextGenerator::TextGenerator(const LoadedModel& opened, Backend& backend, const DeployOptions& options)
    : tokenizer_(open_vocabulary(opened.trained)),
      data_(opened.trained.data),
      model_(backend, *opened.model, *opened.task, opened.trained.weights(), options) {}

void TextGenerator::run(const std::vector<std::string>& prompts, const GenerationOptions& options,
                        const std::function<void(const Generation&)>& done) {
  const InterruptibleWork interruptible;
  const auto at_once = static_cast<std::size_t>(model_.batch_size());
  for (std::size_t first = 0; first < prompts.size(); first += at_once) {
    const auto some = std::span(prompts).subspan(first, std::min(at_once, prompts.size() - first));
    Texts texts(*tokenizer_, data_, some, options, first);
    while (texts.open()) {
      InterruptibleWork::check(fmt::format("after {} of {} texts", first, prompts.size()));
      texts.add(model_.run(texts.batch()));
    }
    for (const Generation& one : texts.take()) done(one);
  }
}

/// Why a text has no more tokens, in the words of JSON lines.
static std::string_view end_reason(const Generation& generation) {
  if (generation.ended) return "end of text";
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

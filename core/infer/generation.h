// Text generation with a language model, one token at a time.
#pragma once

#include "core/data/text/tokenizer.h"
#include "core/infer/prediction_format.h"
#include "core/runtime/deployed_model.h"
#include "core/runtime/loaded_model.h"

#include <functional>

namespace ptrain {

struct GenerationOptions {
  std::int64_t tokens = 50;  // largest number of new tokens per prompt
  std::size_t top_k = 40;    // number of most likely tokens to sample from; 0: all
  float temperature = 1;     // divisor of logits; 0: always the most likely token
  std::uint64_t seed = 1;
};

/// A prompt and the text generated for it.
struct Generation {
  std::string prompt, text;  // text: generated, without the prompt
  std::int64_t prompt_tokens = 0, tokens = 0;
  bool ended = false;    // by the model, with its end-of-text token
  bool is_full = false;  // as long as the model reads, before options.tokens
};

/// Chooses the next token from `logits` over the vocabulary: sampled among the options' most likely ones by `uniform`,
/// which lies in [0, 1). Ties go to the lower id.
std::int32_t next_token(std::span<const float> logits, const GenerationOptions& options, float uniform);

/// Reads prompts: the lines of .txt files and of standard input ("-"); any other argument is itself a prompt. Adds to
/// `notes` the encodings found. Throws Error{failed} naming an argument that is missing or no text, and when there are
/// no prompts.
std::vector<std::string> read_prompts(const std::vector<std::string>& arguments, std::vector<std::string>& notes);

class TextGenerator {
 public:
  /// The model and the backend must outlive it. Throws Error{failed} if the model has no vocabulary, and as
  /// DeployedModel does.
  TextGenerator(const LoadedModel& opened, Backend& backend, const DeployOptions& options);

  /// Generates a text for every prompt and calls `done` for each, in order. Prompts are computed in the model's
  /// batches; sampling depends on the seed and the prompt's position. A text ends where the model ends it, after
  /// options.tokens, or at the length the model was trained on, prompt included. Throws Error{failed} naming a prompt
  /// that leaves no room for a token or whose logits are not finite; Interrupted.
  void run(const std::vector<std::string>& prompts, const GenerationOptions& options,
           const std::function<void(const Generation&)>& done);

 private:
  std::unique_ptr<Tokenizer> tokenizer_;
  DatasetInfo data_;
  DeployedModel model_;
};

/// Like format_header and format_prediction; `text` is the prompt with the generated text.
std::string generation_header(PredictionFormat format);
std::string generation_line(PredictionFormat format, const Generation& generation);

}  // namespace ptrain

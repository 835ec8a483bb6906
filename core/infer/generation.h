// Text generation with a language model, one token at a time.
#pragma once

#include "core/data/text/tokenizer.h"
#include "core/infer/prediction_format.h"
#include "core/infer/sampling.h"
#include "core/runtime/decoding/text_decoder.h"
#include "core/runtime/loaded_model.h"

#include <functional>

namespace ptrain {

struct GenerationOptions {
  std::int64_t tokens = 50;        // largest number of new tokens per prompt
  std::vector<std::string> stops;  // texts before which a text ends
  SamplingOptions sampling;
};

/// A prompt and the text generated for it.
struct Generation {
  std::string prompt, text;  // text: generated, without the prompt
  std::int64_t prompt_tokens = 0, tokens = 0;
  bool ended = false;    // by the model, with its end-of-text token
  bool stopped = false;  // by one of options.stops, of which `text` has nothing
  bool is_full = false;  // as long as the model reads, before options.tokens
};

/// Reads prompts: the lines of .txt files and of standard input ("-"); any other argument is itself a prompt. Adds to
/// `notes` the encodings found. Throws Error{failed} naming an argument that is missing or no text, and when there are
/// no prompts.
std::vector<std::string> read_prompts(const std::vector<std::string>& arguments, std::vector<std::string>& notes);

/// A text to continue, and its tokens.
struct Prompt {
  std::string text;
  std::vector<std::int32_t> ids;
};

class TextGenerator {
 public:
  /// The model and the backend must outlive it; deploy.cache is set, and its length is chosen here. Throws
  /// Error{failed} naming a prompt that leaves no room for a token, if the model has no vocabulary, and as TextDecoder
  /// does.
  TextGenerator(const LoadedModel& opened, Backend& backend, const DeployOptions& deploy,
                const std::vector<std::string>& prompts, GenerationOptions options);

  /// Generates a text for every prompt and calls `done` for each, in order. Prompts are computed in the model's
  /// batches; sampling depends on the seed and the prompt's position. A text ends where the model ends it, before one
  /// of options.stops, after options.tokens, or at the length the model was trained on, prompt included. Throws
  /// Error{failed} naming a prompt whose logits are not finite; Interrupted.
  void run(const std::function<void(const Generation&)>& done);

 private:
  std::unique_ptr<Tokenizer> tokenizer_;
  std::int64_t max_length_;
  GenerationOptions options_;
  std::vector<Prompt> prompts_;
  TextDecoder decoder_;
};

/// Like format_header and format_prediction; `text` is the prompt with the generated text.
std::string generation_header(PredictionFormat format);
std::string generation_line(PredictionFormat format, const Generation& generation);

}  // namespace ptrain

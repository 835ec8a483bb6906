// Texts that a model of running text goes on with, a token at a time.
#pragma once

#include "core/data/text/tokenizer.h"
#include "core/infer/prediction_format.h"
#include "core/runtime/deployed_model.h"
#include "core/runtime/loaded_model.h"

#include <functional>

namespace ptrain {

struct GenerationOptions {
  std::int64_t tokens = 50;  // the most that are added to a prompt
  std::size_t top_k = 40;    // likeliest tokens that one is drawn from; 0: all
  float temperature = 1;     // what logits are divided by; 0: the likeliest token always
  std::uint64_t seed = 1;
};

/// What a prompt became.
struct Generation {
  std::string prompt, text;  // the text is what was added
  std::int64_t prompt_tokens = 0, tokens = 0;
  bool ended = false;  // by the model: it wrote the end of a text
};

/// The token that follows `logits`, one for each of the vocabulary: drawn by `uniform`, which lies in [0, 1), from the
/// options' likeliest ones. Ties go to the lower id.
std::int32_t next_token(std::span<const float> logits, const GenerationOptions& options, float uniform);

/// The lines of .txt files and of standard input ("-"); any other argument is a prompt itself. Adds to `notes` what was
/// found of files. Throws Error{failed} naming what is not there or no text, and when all together hold none.
std::vector<std::string> read_prompts(const std::vector<std::string>& arguments, std::vector<std::string>& notes);

class TextGenerator {
 public:
  /// The model and the backend outlive it. Throws Error{failed} where the model has no vocabulary, and as
  /// DeployedModel.
  TextGenerator(const LoadedModel& opened, Backend& backend, const DeployOptions& options);

  /// Goes on with every prompt and calls `done` for each, in order. Prompts are computed in the model's batches; what
  /// one becomes is drawn by the seed and its place among them. A text ends where the model ends it, after
  /// options.tokens, or at the length that the model was trained on, prompt included. Throws Error{failed} naming a
  /// prompt that leaves no room for a token or whose logits are not finite; Interrupted.
  void run(const std::vector<std::string>& prompts, const GenerationOptions& options,
           const std::function<void(const Generation&)>& done);

 private:
  std::unique_ptr<Tokenizer> tokenizer_;
  DatasetInfo data_;
  DeployedModel model_;
};

/// As format_header and format_prediction have it: text is the prompt and what was added.
std::string generation_header(PredictionFormat format);
std::string generation_line(PredictionFormat format, const Generation& generation);

}  // namespace ptrain

// Text generation for the prompts of a command line.
#pragma once

#include "core/infer/generated_text.h"
#include "core/infer/prediction_format.h"
#include "core/runtime/loaded_model.h"

#include <functional>

namespace ptrain {

/// Reads prompts: the lines of .txt files and of standard input ("-"); any other argument is itself a prompt. Adds to
/// `notes` the encodings found. Throws Error{failed} naming an argument that is missing or no text, and when there are
/// no prompts.
std::vector<std::string> read_prompts(const std::vector<std::string>& arguments, std::vector<std::string>& notes);

class TextGenerator {
 public:
  /// The model and the backend must outlive it; deploy.cache is set, and its length is chosen here. Throws
  /// Error{failed} naming a prompt that leaves no room for a token, if the model has no vocabulary, and as TextDecoder
  /// does.
  TextGenerator(const LoadedModel& opened, Backend& backend, const DeployOptions& deploy,
                const std::vector<std::string>& prompts, const GenerationOptions& options);

  /// Generates a text for every prompt and calls `done` for each, in order. Prompts are computed in the model's
  /// batches, into which they move as others end; sampling depends on the seed and the prompt's position. A text ends
  /// where the model ends it, before one of options.stops, after options.tokens, or at the length the model was trained
  /// on, prompt included. Throws Error{failed} naming a prompt whose logits are not finite; Interrupted.
  void run(const std::function<void(const Generation&)>& done);

 private:
  std::unique_ptr<Tokenizer> tokenizer_;
  std::vector<std::shared_ptr<GeneratedText>> texts_;
  TextDecoder decoder_;
};

/// Like format_header and format_prediction; `text` is the prompt with the generated text.
std::string generation_header(PredictionFormat format);
std::string generation_line(PredictionFormat format, const Generation& generation);

}  // namespace ptrain

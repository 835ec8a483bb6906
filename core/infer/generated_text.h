// Texts that a language model continues, one token at a time, several at once.
#pragma once

#include "core/data/text/tokenizer.h"
#include "core/infer/sampling.h"
#include "core/runtime/decoding/text_decoder.h"

#include <memory>

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

class GeneratedText {
 public:
  /// `tokenizer` must outlive it; `number` distinguishes texts drawn with one seed. Throws Error{failed} naming a
  /// prompt that leaves no room for a token within `max_length`, the longest text that the model reads.
  GeneratedText(const Tokenizer& tokenizer, const std::string& prompt, GenerationOptions options,
                std::int64_t max_length, std::uint64_t number);

  /// Whether a token is missing.
  bool is_open() const;
  /// Of the prompt and of what was generated.
  std::span<const std::int32_t> ids() const { return ids_; }
  /// Appends the token chosen from the model's scores of the next one, unless the text ends with it.
  void add(std::span<const float> logits);
  const Generation& result() const { return result_; }
  /// The prompt in messages.
  std::string shown() const;
  /// How many bytes of result().text later tokens leave as they are: whole characters that begin none of the stops; all
  /// of them at the end.
  std::size_t settled() const;

 private:
  void decode();

  const Tokenizer& tokenizer_;
  GenerationOptions options_;
  std::int64_t max_length_;
  std::uint64_t number_;
  std::vector<std::int32_t> ids_;
  std::size_t prompt_bytes_ = 0;  // of the decoded prompt
  Generation result_;
};

/// Texts in the slots of a decoder. A text that has ended makes room for another.
class GenerationBatch {
 public:
  /// The decoder must outlive it.
  explicit GenerationBatch(TextDecoder& decoder)
      : decoder_(decoder), slots_(static_cast<std::size_t>(decoder.slots())) {}

  bool has_room() const;
  bool is_empty() const;
  /// There is room, and the text is open.
  void add(std::shared_ptr<GeneratedText> text);
  /// Gives each text one more token; texts that are new are read first. Returns those that got one. Throws
  /// Error{failed} naming a text whose scores are not finite.
  std::vector<std::shared_ptr<GeneratedText>> step();
  /// Removes a text.
  void remove(const GeneratedText& text);

 private:
  void read(const std::vector<std::size_t>& which);

  TextDecoder& decoder_;
  std::vector<std::shared_ptr<GeneratedText>> slots_;  // null: free
};

}  // namespace ptrain

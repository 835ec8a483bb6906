// The interface of every tokeniser: ids of a text, and sentences encoded with special tokens as a model reads them.
#pragma once

#include <nlohmann/json.hpp>

#include <array>
#include <cstdint>
#include <filesystem>
#include <functional>
#include <map>
#include <memory>
#include <optional>
#include <span>
#include <string>
#include <string_view>
#include <unordered_map>
#include <vector>

namespace ptrain {

enum class TextCase { lower, keep };

struct StringHash {
  using is_transparent = void;
  std::size_t operator()(std::string_view text) const { return std::hash<std::string_view>{}(text); }
};
/// Ids by token, found by a part of a text too.
using TokenIds = std::unordered_map<std::string, std::int32_t, StringHash, std::equal_to<>>;

/// Special tokens around sentences: first a separator [between - 1 more separators b separator].
struct SpecialTokens {
  std::int32_t first = 0, separator = 0, pad = 0;
  std::size_t between = 1;                 // separators between two sentences
  std::int32_t second_type = 1;            // token type of a second sentence
  std::optional<std::int32_t> begin = {};  // before a prompt; none: nothing is
};

class Tokenizer {
 public:
  virtual ~Tokenizer() = default;
  virtual int vocab_size() const = 0;
  /// The token of text that the vocabulary does not have; -1: there is none.
  virtual std::int32_t unknown_id() const = 0;
  /// Appends the ids of `text`, without the special tokens around it, to `ids`. Thread-safe.
  virtual void tokenize(std::string_view text, std::vector<std::int32_t>& ids) const = 0;
  /// The text of tokens, special tokens as they are written; incomplete characters are not valid UTF-8. Throws
  /// Error{failed} if the vocabulary does not preserve texts.
  virtual std::string decode(std::span<const std::int32_t> ids) const;

  /// Writes one sentence, or two when has_second, with their special tokens, truncated to ids.size() longest sentence
  /// first, and pads. Both spans have max_length entries (at least 5). `a` and `b` are token ids from tokenize().
  /// Returns the length.
  std::int32_t encode_pair(std::span<const std::int32_t> a, std::span<const std::int32_t> b, bool has_second,
                           std::span<std::int32_t> ids, std::span<std::int32_t> token_types) const;

  std::int32_t pad_id() const { return special_tokens_.pad; }
  /// The token before a prompt, where the vocabulary says that there is one.
  std::optional<std::int32_t> begin_id() const { return special_tokens_.begin; }
  /// The special token after a text's last token.
  std::int32_t end_id() const { return special_tokens_.separator; }
  /// Notes for the user on the vocabulary, one line each.
  const std::vector<std::string>& notes() const { return notes_; }

 protected:
  SpecialTokens special_tokens_;
  std::vector<std::string> notes_;
};

/// Names of a vocabulary in a model's folder: WordPiece's, a byte-level BPE's with merges.txt beside it, that of
/// Hugging Face's tokenizers, and SentencePiece's.
inline constexpr std::array<const char*, 4> vocabulary_names{"vocab.txt", "vocab.json", "tokenizer.json",
                                                             "tokenizer.model"};

/// Opens a vocabulary by its form: tokenizer.json with a BPE, its special tokens in a tokenizer_config.json beside it;
/// a byte-level BPE's vocab.json with merges.txt beside it; SentencePiece's .model; the vocabulary in a .gguf file;
/// else WordPiece's vocab.txt, the only one that does not preserve case. Throws Error{failed} naming the file, and the
/// line or the part that is damaged or not supported.
std::unique_ptr<Tokenizer> open_tokenizer(const std::filesystem::path& vocab, TextCase text_case);

/// What a model's folder needs to open the vocabulary again, here and with transformers.
struct VocabularyCopy {
  std::map<std::string, std::string> files;  // contents by name; one is of vocabulary_names
  nlohmann::json config;                     // for tokenizer_config.json
};

/// Throws as open_tokenizer does, where the file cannot be read or its form is not recognised.
VocabularyCopy copy_vocabulary(const std::filesystem::path& vocab, TextCase text_case);

}  // namespace ptrain

// The interface of every tokeniser: ids of a text, and sentences encoded with special tokens as a model reads them.
#pragma once

#include <cstdint>
#include <filesystem>
#include <memory>
#include <span>
#include <string>
#include <string_view>
#include <vector>

namespace ptrain {

enum class TextCase { lower, keep };

/// Special tokens around sentences: first a separator [between - 1 more separators b separator].
struct SpecialTokens {
  std::int32_t first = 0, separator = 0, pad = 0;
  std::size_t between = 1;       // separators between two sentences
  std::int32_t second_type = 1;  // token type of a second sentence
};

class Tokenizer {
 public:
  virtual ~Tokenizer() = default;
  virtual int vocab_size() const = 0;
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
  /// The special token after a text's last token.
  std::int32_t end_id() const { return special_tokens_.separator; }
  /// Notes for the user on the vocabulary, one line each.
  const std::vector<std::string>& notes() const { return notes_; }

 protected:
  SpecialTokens special_tokens_;
  std::vector<std::string> notes_;
};

/// The files of a vocabulary: itself, and merges.txt for a byte-level BPE's vocab.json.
std::vector<std::filesystem::path> vocabulary_files(const std::filesystem::path& vocab);

/// A byte-level BPE, which preserves case, if `vocab` ends in .json, else WordPiece. Throws Error{failed} naming the
/// file, and the line of an error.
std::unique_ptr<Tokenizer> open_tokenizer(const std::filesystem::path& vocab, TextCase text_case);

}  // namespace ptrain

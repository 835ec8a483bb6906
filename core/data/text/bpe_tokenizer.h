// Byte pair encoding as GPT-2, RoBERTa, Llama, Qwen and SmolLM2 use it: text is normalised, split into words, and the
// tokens of a word's bytes or characters are joined in the order of the merges (Radford et al. 2019).
#pragma once

#include "core/data/text/added_tokens.h"
#include "core/data/text/bpe_merges.h"
#include "core/data/text/tokenizer.h"
#include "core/data/text/word_split.h"

#include <array>
#include <string>
#include <utility>

namespace ptrain {

struct Normalizer {
  enum class Kind { nfc, prepend, replace };
  Kind kind = Kind::nfc;
  std::string from = {}, to = {};  // replace: each `from` by `to`; prepend: `to`
};

/// SentencePiece's way to keep spaces: they become `mark`, and one is put before a text that begins with none.
struct Metaspace {
  enum class Prepend { never, first, always };  // first: only before the start of a whole text
  std::string mark;
  Prepend prepend = Prepend::always;
};

/// What a tokeniser consists of, whichever file it comes from.
struct BpeParts {
  std::vector<std::string> tokens;  // by id, as files write them; empty: no token
  TokenIds ids;                     // of the tokens that words are joined to
  BpeMerges merges;
  std::vector<AddedToken> added;
  std::vector<Normalizer> normalizers;  // in order
  std::optional<Metaspace> metaspace;
  std::vector<SplitRule> splits;                             // each splits what the one before it leaves whole
  bool byte_level = false;                                   // words consist of bytes, else of characters
  bool byte_fallback = false;                                // a character that is no token is its bytes
  bool takes_whole_words = false;                            // a word that is a token is not joined from its parts
  bool joins_unknown = false;                                // adjacent unknown characters are one token
  std::optional<std::int32_t> unknown;                       // the token of an unknown character; none: it is left out
  std::vector<std::pair<std::string, std::string>> decoded;  // what a token's text replaces by what
  std::size_t dropped_spaces = 0;                            // at most, from the start of a decoded text
  SpecialTokens special;
};

/// Bytes as byte-level vocabularies write them: printable ones of Latin-1 unchanged, the others as U+0100 and on.
std::array<std::string, 256> list_written_bytes();

class BpeTokenizer final : public Tokenizer {
 public:
  explicit BpeTokenizer(BpeParts parts, std::vector<std::string> notes = {});

  int vocab_size() const override { return static_cast<int>(parts_.tokens.size()); }
  std::int32_t unknown_id() const override { return parts_.unknown.value_or(-1); }
  /// Added tokens in the text are recognised.
  void tokenize(std::string_view text, std::vector<std::int32_t>& ids) const override;
  std::string decode(std::span<const std::int32_t> ids) const override;

 private:
  void decode_tokens();
  std::string normalize(std::string_view text) const;
  void tokenize_plain(std::string_view text, bool is_start, std::vector<std::int32_t>& ids) const;
  void split_words(std::string_view text, std::size_t rule, std::vector<std::int32_t>& ids) const;
  void tokenize_word(std::string_view word, std::vector<std::int32_t>& ids) const;
  void append_bytes(std::string_view word, std::vector<std::int32_t>& tokens) const;
  void append_characters(std::string_view word, std::vector<std::int32_t>& tokens) const;
  std::string write_bytes(std::string_view word) const;

  BpeParts parts_;
  AddedTokens added_, normalized_;         // found before normalisation, and after it
  std::array<std::string, 256> written_;   // the bytes, as the vocabulary writes them
  std::array<std::int32_t, 256> bytes_{};  // the single bytes' tokens; -1: none
  std::vector<std::string> texts_;         // of each token, by id
};

}  // namespace ptrain

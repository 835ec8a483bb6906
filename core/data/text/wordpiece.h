// BERT's WordPiece tokeniser; ids are those of Hugging Face's BertTokenizer.
#pragma once

#include "core/data/text/tokenizer.h"

#include <string>
#include <string_view>

namespace ptrain {

class WordPiece final : public Tokenizer {
 public:
  /// One token per line, id = line number from 0; of a token that occurs twice, the last. Blank lines have an id and
  /// are no token. Throws Error when the file is missing, empty, or lacks [PAD], [UNK], [CLS] or [SEP].
  static WordPiece from_file(const std::filesystem::path& vocab, TextCase text_case);
  WordPiece(std::vector<std::string> tokens, TextCase text_case, const std::string& name = "vocabulary");

  int vocab_size() const override { return static_cast<int>(tokens_.size()); }
  std::int32_t unknown_id() const override { return unknown_; }

  /// Appends the ids of `text` (without [CLS] and [SEP]) to `ids`. Bytes that are not UTF-8 are skipped.
  void tokenize(std::string_view text, std::vector<std::int32_t>& ids) const override;

 private:
  std::int32_t required(std::string_view token, const std::string& name) const;
  void tokenize_plain(std::string_view text, std::vector<std::int32_t>& ids) const;
  void match_word(std::string_view word, std::vector<std::int32_t>& ids) const;

  std::vector<std::string> tokens_;
  TokenIds whole_;   // tokens that start a word
  TokenIds inside_;  // "##" tokens, without the mark
  TextCase case_;
  std::int32_t unknown_ = 0;
};

}  // namespace ptrain

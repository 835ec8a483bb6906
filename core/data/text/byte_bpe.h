// Byte-level byte pair encoding (Radford et al. 2019) with RoBERTa's special tokens or GPT-2's, depending on the
// vocabulary; ids are those of Hugging Face's RobertaTokenizer and GPT2Tokenizer.
#pragma once

#include "core/data/text/tokenizer.h"

#include <array>
#include <string>
#include <unordered_map>
#include <utility>

namespace ptrain {

class ByteBpe final : public Tokenizer {
 public:
  /// vocab.json maps tokens, bytes written as printable characters, to ids; merges.txt in the same folder has a pair of
  /// tokens per line, in merge order. Throws Error{failed} naming the file, and a line of merges.txt.
  static ByteBpe from_files(const std::filesystem::path& vocab_json);
  /// The contents of the two files; `vocab_name` and `merges_name` are for messages.
  ByteBpe(std::string_view vocab, std::string_view merges, const std::string& vocab_name = "vocab.json",
          const std::string& merges_name = "merges.txt");

  int vocab_size() const override { return vocab_size_; }
  std::int32_t unknown_id() const override { return unknown_; }
  /// Every byte has a token; special tokens in the text are recognised.
  void tokenize(std::string_view text, std::vector<std::int32_t>& ids) const override;
  std::string decode(std::span<const std::int32_t> ids) const override;

 private:
  struct Merge {
    std::int32_t rank, joined;
  };
  using Ids = std::unordered_map<std::string, std::int32_t>;

  void find_marks(const Ids& ids, const std::string& name);
  Ids read_vocabulary(std::string_view text, const std::string& name);
  void read_merges(std::string_view text, const Ids& ids, const std::string& name);
  void tokenize_plain(std::string_view text, std::vector<std::int32_t>& ids) const;
  void join_bytes(std::string_view word, std::vector<std::int32_t>& ids) const;
  const Merge* find_merge(std::int32_t left, std::int32_t right) const;

  int vocab_size_ = 0;
  std::int32_t unknown_ = 0;
  std::array<std::int32_t, 256> bytes_{};                      // the single bytes' tokens
  std::vector<std::string> written_tokens_;                    // as written in the vocabulary, by id
  std::unordered_map<std::uint64_t, Merge> merges_;            // by the two tokens
  std::vector<std::pair<std::string, std::int32_t>> written_;  // special tokens
};

}  // namespace ptrain

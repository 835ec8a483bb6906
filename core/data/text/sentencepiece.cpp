#include "core/data/text/sentencepiece.h"

#include "core/base/errors.h"

#include <sentencepiece_processor.h>

#include <algorithm>
#include <iterator>

namespace ptrain {
namespace {

/// The first line of what the library says of an error.
std::string describe_error(const sentencepiece::util::Status& status) {
  const std::string text = status.ToString();
  return text.substr(0, text.find('\n'));
}

class SentencePiece final : public Tokenizer {
 public:
  SentencePiece(std::string_view content, const std::string& name) {
    const sentencepiece::util::Status status = processor_.LoadFromSerializedProto(content);
    if (!status.ok()) fail("{}: not a SentencePiece model, or damaged: {}", name, describe_error(status));
    const std::int32_t end = processor_.eos_id();
    if (end < 0) fail("{}: has no token that ends a text (eos)", name);
    const std::int32_t pad = processor_.pad_id();
    special_tokens_ = {.first = end, .separator = end, .pad = pad < 0 ? end : pad, .between = 1, .second_type = 0};
  }

  int vocab_size() const override { return processor_.GetPieceSize(); }
  std::int32_t unknown_id() const override { return processor_.unk_id(); }

  void tokenize(std::string_view text, std::vector<std::int32_t>& ids) const override {
    std::vector<int> tokens;
    const sentencepiece::util::Status status = processor_.Encode(text, &tokens);
    if (!status.ok()) fail("SentencePiece cannot tokenise a text: {}", describe_error(status));
    ids.insert(ids.end(), tokens.begin(), tokens.end());
  }

  /// Of control tokens nothing is left.
  std::string decode(std::span<const std::int32_t> ids) const override {
    std::vector<int> tokens;
    std::ranges::copy_if(ids, std::back_inserter(tokens),
                         [&](std::int32_t id) { return id >= 0 && id < vocab_size(); });
    std::string text;
    const sentencepiece::util::Status status = processor_.Decode(tokens, &text);
    if (!status.ok()) fail("SentencePiece cannot decode tokens: {}", describe_error(status));
    return text;
  }

 private:
  sentencepiece::SentencePieceProcessor processor_;
};

}  // namespace

std::unique_ptr<Tokenizer> read_sentencepiece(std::string_view content, const std::string& name) {
  return std::make_unique<SentencePiece>(content, name);
}

}  // namespace ptrain

// Fuzzes the tokeniser: any bytes give ids of the vocabulary.
#include "core/data/text/wordpiece.h"

#include <cstdlib>

#include <cstddef>
#include <cstdint>

extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t* data, std::size_t size) {
  using namespace ptrain;
  static const std::vector<std::string> vocabulary{"[PAD]", "[UNK]", "[CLS]", "[SEP]", "[MASK]",
                                                   "a",     "##a",   "##b",   "é",     "中"};
  static const WordPiece lower(vocabulary, TextCase::lower), keep(vocabulary, TextCase::keep);
  const std::string_view text(reinterpret_cast<const char*>(data), size);
  for (const WordPiece* tokenizer : {&lower, &keep}) {
    std::vector<std::int32_t> first, second, ids(24), types(24);
    tokenizer->tokenize(text.substr(0, size / 2), first);
    tokenizer->tokenize(text.substr(size / 2), second);
    const std::int32_t length = tokenizer->encode_pair(first, second, true, ids, types);
    if (length < 3 || length > 24) std::abort();
    for (const std::int32_t id : ids) {
      if (id < 0 || id >= tokenizer->vocab_size()) std::abort();
    }
  }
  return 0;
}

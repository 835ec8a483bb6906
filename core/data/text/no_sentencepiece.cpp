// In place of sentencepiece.cpp where the library is not installed.
#include "core/base/errors.h"
#include "core/data/text/sentencepiece.h"

namespace ptrain {

std::unique_ptr<Tokenizer> read_sentencepiece(std::string_view, const std::string& name) {
  fail(
      "{}: this ptrain was built without SentencePiece (libsentencepiece-dev); a tokenizer.json of the same vocabulary "
      "can be read",
      name);
}

}  // namespace ptrain

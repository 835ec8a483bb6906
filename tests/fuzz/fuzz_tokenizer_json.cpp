// Any bytes as a tokenizer.json: refused with an Error, or a tokeniser that gives ids of its vocabulary.
#include "core/base/errors.h"
#include "core/data/text/tokenizer_json.h"
#include "core/io/json_text.h"

#include <cstdint>
#include <cstdlib>

extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t* data, std::size_t size) {
  using namespace ptrain;
  const std::string_view text(reinterpret_cast<const char*>(data), size);
  try {
    const BpeTokenizer tokenizer(read_tokenizer_json(parse_json(text), "fuzz"));
    std::vector<std::int32_t> ids;
    tokenizer.tokenize(text.substr(0, 512), ids);
    tokenizer.tokenize("it's <s> a <|im_end|> x\u0301 2024\r\n\xff", ids);
    for (const std::int32_t id : ids) {
      if (id < 0 || id >= tokenizer.vocab_size()) std::abort();
    }
    tokenizer.decode(ids);
  } catch (const Error&) {
    // what every malformed file must end in
  }
  return 0;
}

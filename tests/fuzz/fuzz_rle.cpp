// Fuzzes the reader of run lengths in text: any bytes give runs that are no more than an image, or an Error.
#include "core/base/errors.h"
#include "core/data/boxes/rle.h"

#include <cstddef>
#include <cstdint>
#include <cstdlib>

extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t* data, std::size_t size) {
  const std::string_view text(reinterpret_cast<const char*>(data), size);
  try {
    for (const std::int64_t count : ptrain::parse_run_lengths(text, "fuzz")) {
      if (count < 0) std::abort();
    }
  } catch (const ptrain::Error&) {
  }
  try {
    ptrain::parse_rle({{"size", {480, 640}}, {"counts", std::string(text)}}, "fuzz");
  } catch (const ptrain::Error&) {
  }
  return 0;
}

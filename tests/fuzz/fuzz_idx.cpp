// Fuzzes the IDX and gzip readers: any bytes give an array or an Error.
#include "core/base/errors.h"
#include "core/data/image/idx.h"

#include <cstddef>
#include <cstdint>

extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t* data, std::size_t size) {
  for (const int rank : {1, 3}) {
    try {
      ptrain::parse_idx({data, size}, "fuzz", rank);
    } catch (const ptrain::Error&) {
    }
  }
  return 0;
}

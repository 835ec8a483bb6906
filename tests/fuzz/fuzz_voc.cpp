// Fuzzes the reader of PASCAL VOC's annotations: any bytes give an annotation or an Error.
#include "core/base/errors.h"
#include "core/data/boxes/voc_xml.h"

#include <cstddef>
#include <cstdint>

extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t* data, std::size_t size) {
  try {
    ptrain::parse_voc({reinterpret_cast<const char*>(data), size}, "fuzz");
  } catch (const ptrain::Error&) {
  }
  return 0;
}

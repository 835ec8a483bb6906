// Fuzzes the reader of COCO's annotations: any bytes give annotated images or an Error.
#include "core/base/errors.h"
#include "core/data/boxes/coco_json.h"

#include <cstddef>
#include <cstdint>
#include <sstream>

extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t* data, std::size_t size) {
  for (const ptrain::ObjectMasks masks : {ptrain::ObjectMasks::skip, ptrain::ObjectMasks::read}) {
    std::istringstream file(std::string(reinterpret_cast<const char*>(data), size));
    try {
      ptrain::parse_coco(file, "fuzz", "", masks == ptrain::ObjectMasks::read ? 91 : 0, masks);
    } catch (const ptrain::Error&) {
    }
  }
  return 0;
}

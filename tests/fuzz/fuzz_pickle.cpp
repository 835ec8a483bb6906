// Any bytes as a pickle of weights, alone or in a zip archive: refused with an Error, or tensors that lie within them.
#include "core/base/errors.h"
#include "core/io/pickled_weights.h"

#include <cstdint>

extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t* data, std::size_t size) {
  const std::span<const std::byte> bytes(reinterpret_cast<const std::byte*>(data), size);
  try {
    const ptrain::PickledTensors parsed = ptrain::parse_pickled_weights(bytes, "fuzz");
    for (const ptrain::NamedTensor& tensor : parsed.tensors) {
      if (ptrain::holds_floats(tensor)) ptrain::to_floats(tensor);
    }
  } catch (const ptrain::Error&) {
    // what every malformed file must end in
  }
  return 0;
}

// Any bytes as a GGUF file: parse_gguf refuses them with an Error or returns tensors that lie within them.
#include "core/base/errors.h"
#include "core/io/gguf.h"

#include <cstdint>

extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t* data, std::size_t size) {
  const std::span<const std::byte> bytes(reinterpret_cast<const std::byte*>(data), size);
  try {
    for (const ptrain::NamedTensor& tensor : ptrain::parse_gguf(bytes, "fuzz").tensors) ptrain::to_floats(tensor);
  } catch (const ptrain::Error&) {
    // what every malformed file must end in
  }
  return 0;
}

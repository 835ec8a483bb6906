// Any bytes as a safetensors file: parse_safetensors refuses them with an Error or returns tensors that lie within
// them.
#include "core/base/errors.h"
#include "core/io/safetensors.h"

#include <cstdint>
#include <cstdlib>

extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t* data, std::size_t size) {
  const std::span<const std::byte> bytes(reinterpret_cast<const std::byte*>(data), size);
  try {
    for (const ptrain::NamedTensor& tensor : ptrain::parse_safetensors(bytes, "fuzz").tensors) {
      if (tensor.bytes.size() != ptrain::element_size(tensor.dtype) * static_cast<std::size_t>(tensor.shape.count()))
        abort();
      if (ptrain::is_floating(tensor.dtype)) ptrain::to_floats(tensor);
    }
  } catch (const ptrain::Error&) {
    // what every malformed file must end in
  }
  return 0;
}

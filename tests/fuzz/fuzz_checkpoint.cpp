// Any bytes as a checkpoint: parse_checkpoint refuses them with an Error or returns tensors that lie within them.
// The header's checksum is repaired first, or no input would ever reach the code behind it.
#include "core/base/errors.h"
#include "core/io/atomic_file.h"
#include "core/io/checkpoint.h"

#include <cstdint>
#include <cstdlib>
#include <cstring>
#include <vector>

namespace {

void repair_header_checksum(std::vector<std::byte>& file) {
  std::uint64_t length = 0;
  if (file.size() < 24) return;
  std::memcpy(&length, file.data() + 8, sizeof length);
  if (length > file.size() - 24) return;
  const std::uint32_t checksum = ptrain::crc32(std::span(file).subspan(24, length));
  std::memcpy(file.data() + 16, &checksum, sizeof checksum);
}

}  // namespace

extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t* data, std::size_t size) {
  const auto* first = reinterpret_cast<const std::byte*>(data);
  std::vector<std::byte> file(first, first + size);
  repair_header_checksum(file);
  try {
    for (const ptrain::NamedTensor& tensor : ptrain::parse_checkpoint(file, "fuzz").tensors)
      if (tensor.bytes.size() != ptrain::size_of(tensor.dtype) * static_cast<std::size_t>(tensor.shape.count()))
        abort();
  } catch (const ptrain::Error&) {
    // what every malformed file must end in
  }
  return 0;
}

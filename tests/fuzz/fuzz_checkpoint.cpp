// Any bytes as a checkpoint of either format: parse_checkpoint refuses them with an Error or returns tensors that lie
// within them. The header's checksum is repaired first, or no input would ever reach the code after it.
#include "core/base/errors.h"
#include "core/io/atomic_file.h"
#include "core/io/checkpoint.h"

#include <cstdint>
#include <cstdlib>
#include <cstring>
#include <span>
#include <string_view>
#include <vector>

namespace {

using Bytes = std::span<std::byte>;

void store(std::uint32_t checksum, std::byte* place) { std::memcpy(place, &checksum, sizeof checksum); }

/// The length of a header, read at `place`, where that many bytes follow the `before` bytes of `file`; else 0.
std::size_t find_header(Bytes file, std::size_t place, std::size_t before) {
  std::uint64_t length = 0;
  if (file.size() < before) return 0;
  std::memcpy(&length, file.data() + place, sizeof length);
  return length > file.size() - before ? 0 : static_cast<std::size_t>(length);
}

void repair_first_format(Bytes file) {
  const std::size_t length = find_header(file, 8, 24);
  if (length > 0) store(ptrain::crc32(file.subspan(24, length)), file.data() + 16);
}

/// A file ends in the checksums of its tensors, which are left as they are, of its header and of these.
void repair_safetensors(Bytes file) {
  const std::size_t length = find_header(file, 0, 8);
  if (length == 0 || file.size() - 8 - length < 8) return;
  store(ptrain::crc32(file.first(8 + length)), file.data() + file.size() - 8);
  const std::string_view text(reinterpret_cast<const char*>(file.data()) + 8, length);
  std::size_t count = 0;  // of the tensors, as far as their names tell
  for (std::size_t at = text.find("\"dtype\""); at != text.npos; at = text.find("\"dtype\"", at + 1)) ++count;
  const std::size_t checked = 4 * count;  // checksums of the others and of the header
  if (file.size() - 8 - length < checked + 4) return;
  const Bytes checksums = file.subspan(file.size() - 4 - checked, checked);
  store(ptrain::crc32(checksums), file.data() + file.size() - 4);
}

}  // namespace

extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t* data, std::size_t size) {
  const auto* first = reinterpret_cast<const std::byte*>(data);
  std::vector<std::byte> file(first, first + size);
  if (size > 0 && data[0] == 'P') {
    repair_first_format(file);
  } else {
    repair_safetensors(file);
  }
  try {
    for (const ptrain::NamedTensor& tensor : ptrain::parse_checkpoint(file, "fuzz").tensors)
      if (tensor.bytes.size() != ptrain::element_size(tensor.dtype) * static_cast<std::size_t>(tensor.shape.count()))
        abort();
  } catch (const ptrain::Error&) {
    // what every malformed file must end in
  }
  return 0;
}

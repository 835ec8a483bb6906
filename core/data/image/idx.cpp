// The IDX parser.
#include "core/data/image/idx.h"

#include "core/base/errors.h"
#include "core/data/file_bytes.h"

namespace ptrain {

IdxArray parse_idx(std::span<const std::uint8_t> bytes, const std::string& name, int rank) {
  ByteReader reader(bytes, name);
  const std::uint32_t magic = reader.read_big_endian_u32();
  const std::uint32_t expected = 0x0800u + static_cast<std::uint32_t>(rank);
  if (magic != expected) {
    fail("{}: not an IDX file of bytes with {} dimension(s): magic number 0x{:08x}, expected 0x{:08x}", name, rank,
         magic, expected);
  }
  IdxArray array;
  std::uint64_t count = 1;
  for (int axis = 0; axis < rank; ++axis) {
    const std::uint64_t extent = reader.read_big_endian_u32();
    array.dims.push_back(static_cast<std::int64_t>(extent));
    count = (extent != 0 && count > reader.most_bytes_possible() / extent) ? UINT64_MAX : count * extent;
    if (count > reader.most_bytes_possible()) {
      fail("{}: header claims more values than the file holds (truncated file)", name);
    }
  }
  array.values.resize(count);
  reader.read(array.values);
  reader.expect_end();
  return array;
}

}  // namespace ptrain

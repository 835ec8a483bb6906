#include "core/data/shards/byte_source.h"

#include "core/base/errors.h"
#include "core/io/atomic_file.h"

#include <unistd.h>

#include <algorithm>
#include <cerrno>
#include <cstring>

namespace ptrain {

void ByteSource::read(std::uint64_t offset, std::span<std::uint8_t> out) const {
  if (read_some(offset, out) != out.size()) {
    fail("{}: ends before byte {} (truncated file)", name_, offset + out.size());
  }
}

FileBytes::FileBytes(const std::filesystem::path& path) : ByteSource(path.string()) {
  const OpenFile file = open_for_reading(path);
  descriptor_ = file.descriptor;
  size_ = file.bytes;
}

FileBytes::~FileBytes() { ::close(descriptor_); }

void FileBytes::require(const FileIdentity& expected) const {
  if (identity() != expected) throw ChangedFile(name_);
}

std::size_t FileBytes::read_some(std::uint64_t offset, std::span<std::uint8_t> out) const {
  std::size_t done = 0;
  while (done < out.size()) {
    const ssize_t count = ::pread(descriptor_, out.data() + done, out.size() - done, static_cast<off_t>(offset + done));
    if (count == 0) break;
    if (count > 0) done += static_cast<std::size_t>(count);
    if (count < 0 && errno != EINTR) throw UnreadableFile(name_, std::strerror(errno));
  }
  return done;
}

MemoryBytes::MemoryBytes(std::span<const std::uint8_t> bytes, std::string name)
    : ByteSource(std::move(name)), bytes_(bytes) {
  size_ = bytes.size();
}

std::size_t MemoryBytes::read_some(std::uint64_t offset, std::span<std::uint8_t> out) const {
  if (offset >= bytes_.size()) return 0;
  const std::size_t count = std::min<std::size_t>(out.size(), bytes_.size() - offset);
  std::memcpy(out.data(), bytes_.data() + offset, count);
  return count;
}

}  // namespace ptrain

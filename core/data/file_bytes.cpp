// Reading files and gzip streams with bounded memory.
#include "core/data/file_bytes.h"

#include "core/base/errors.h"
#include "core/io/atomic_file.h"

#include <sys/stat.h>

#include <algorithm>
#include <cerrno>
#include <cstdio>
#include <cstring>
#include <memory>
#include <utility>

namespace ptrain {

void read_file(const std::filesystem::path& path, std::vector<std::uint8_t>& bytes) {
  const auto close = [](std::FILE* file) { std::fclose(file); };
  struct stat status {};  // check before opening: a FIFO would wait for a writer
  if (::stat(path.c_str(), &status) == 0 && !S_ISREG(status.st_mode)) fail("{}: not a regular file", path.string());
  const std::unique_ptr<std::FILE, decltype(close)> file(std::fopen(path.c_str(), "rb"), close);
  if (!file) fail("{}: cannot open: {}", path.string(), std::strerror(errno));
  bytes.resize(static_cast<std::size_t>(status.st_size));
  if (std::fread(bytes.data(), 1, bytes.size(), file.get()) != bytes.size()) {
    fail("{}: cannot read all of its {} bytes", path.string(), bytes.size());
  }
  refuse_stand_in(path, {reinterpret_cast<const char*>(bytes.data()), bytes.size()});
}

ByteReader::ByteReader(std::span<const std::uint8_t> bytes, std::string name) : bytes_(bytes), name_(std::move(name)) {
  if (is_gzip(std::as_bytes(bytes))) gzip_.emplace(std::as_bytes(bytes), name_);
}

std::size_t ByteReader::read_some(std::span<std::uint8_t> out) {
  if (gzip_) return gzip_->read(std::as_writable_bytes(out));
  const std::size_t count = std::min(out.size(), bytes_.size() - position_);
  if (count > 0) std::memcpy(out.data(), bytes_.data() + position_, count);
  position_ += count;
  return count;
}

void ByteReader::read(std::span<std::uint8_t> out) {
  const std::size_t count = read_some(out);
  if (count != out.size()) fail("{}: ends {} bytes early (truncated file)", name_, out.size() - count);
}

std::uint32_t ByteReader::read_big_endian_u32() {
  std::uint8_t b[4];
  read(b);
  return (std::uint32_t{b[0]} << 24) | (std::uint32_t{b[1]} << 16) | (std::uint32_t{b[2]} << 8) | b[3];
}

void ByteReader::expect_end() {
  std::uint8_t extra[1];
  if (read_some(extra) != 0) fail("{}: has more data than its header says", name_);
}

std::uint64_t ByteReader::most_bytes_possible() const {
  const std::uint64_t left = gzip_ ? bytes_.size() : bytes_.size() - position_;
  constexpr std::uint64_t deflate_ratio = 1032;
  return gzip_ ? left * deflate_ratio + deflate_ratio : left;
}

}  // namespace ptrain

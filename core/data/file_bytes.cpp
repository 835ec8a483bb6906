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

namespace {

bool is_gzip(std::span<const std::uint8_t> bytes) { return bytes.size() >= 2 && bytes[0] == 0x1f && bytes[1] == 0x8b; }

}  // namespace

ByteReader::ByteReader(std::span<const std::uint8_t> bytes, std::string name) : bytes_(bytes), name_(std::move(name)) {
  gzip_ = is_gzip(bytes);
  if (!gzip_) return;
  constexpr int gzip_window = 15 + 16;
  if (inflateInit2(&stream_, gzip_window) != Z_OK) fail("{}: zlib cannot start", name_);
  stream_.next_in = const_cast<Bytef*>(bytes_.data());
  stream_.avail_in = static_cast<uInt>(std::min<std::size_t>(bytes_.size(), 1u << 30));
}

ByteReader::~ByteReader() {
  if (gzip_) inflateEnd(&stream_);
}

std::size_t ByteReader::read_some(std::span<std::uint8_t> out) {
  if (!gzip_) {
    const std::size_t count = std::min(out.size(), bytes_.size() - position_);
    if (count > 0) std::memcpy(out.data(), bytes_.data() + position_, count);
    position_ += count;
    return count;
  }
  std::size_t done = 0;
  while (done < out.size() && !ended_) {
    const std::size_t consumed = static_cast<std::size_t>(stream_.next_in - bytes_.data());
    stream_.avail_in = static_cast<uInt>(std::min<std::size_t>(bytes_.size() - consumed, 1u << 30));
    const auto room = static_cast<uInt>(std::min<std::size_t>(out.size() - done, 1u << 30));
    stream_.next_out = out.data() + done;
    stream_.avail_out = room;
    const int status = inflate(&stream_, Z_NO_FLUSH);
    done += room - stream_.avail_out;
    if (status == Z_STREAM_END) {
      ended_ = !begin_next_member();
    } else if (status == Z_BUF_ERROR || (status == Z_OK && stream_.avail_in == 0 && stream_.avail_out != 0)) {
      fail("{}: gzip data ends early (truncated file)", name_);
    } else if (status != Z_OK) {
      fail("{}: corrupt gzip data ({})", name_, stream_.msg ? stream_.msg : "unknown error");
    }
  }
  return done;
}

/// A file may be several that were joined, and end in zeros.
bool ByteReader::begin_next_member() {
  const std::span<const std::uint8_t> rest = bytes_.subspan(static_cast<std::size_t>(stream_.next_in - bytes_.data()));
  if (std::ranges::all_of(rest, [](std::uint8_t byte) { return byte == 0; })) return false;
  if (!is_gzip(rest)) fail("{}: has {} bytes of something else after its gzip data", name_, rest.size());
  if (inflateReset(&stream_) != Z_OK) fail("{}: zlib cannot start", name_);
  return true;
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

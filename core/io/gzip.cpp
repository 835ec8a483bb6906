#include "core/io/gzip.h"

#include "core/base/errors.h"

#include <algorithm>
#include <cstring>
#include <utility>

namespace ptrain {
namespace {

/// zlib counts in 32 bits.
uInt limit_length(std::size_t length) { return static_cast<uInt>(std::min<std::size_t>(length, 1u << 30)); }

}  // namespace

bool is_gzip(std::span<const std::byte> bytes) {
  constexpr unsigned char start[]{0x1f, 0x8b, 8};  // and the only method there is
  return bytes.size() >= sizeof start && std::memcmp(bytes.data(), start, sizeof start) == 0;
}

GzipReader::GzipReader(std::span<const std::byte> bytes, std::string name) : rest_(bytes), name_(std::move(name)) {
  constexpr int gzip_window = 15 + 16;
  if (inflateInit2(&stream_, gzip_window) != Z_OK) fail("{}: no memory to unpack it", name_);
}

GzipReader::~GzipReader() { inflateEnd(&stream_); }

std::size_t GzipReader::read(std::span<std::byte> out) {
  std::size_t done = 0;
  while (done < out.size() && !ended_) {
    stream_.next_in = reinterpret_cast<Bytef*>(const_cast<std::byte*>(rest_.data()));
    stream_.avail_in = limit_length(rest_.size());
    stream_.next_out = reinterpret_cast<Bytef*>(out.data() + done);
    stream_.avail_out = limit_length(out.size() - done);
    const uInt offered = stream_.avail_in, room = stream_.avail_out;
    const int status = inflate(&stream_, Z_NO_FLUSH);
    rest_ = rest_.subspan(offered - stream_.avail_in);
    done += room - stream_.avail_out;
    if (status == Z_STREAM_END) {
      ended_ = !begin_next_member();
    } else if (status == Z_BUF_ERROR || (status == Z_OK && rest_.empty() && stream_.avail_out != 0)) {
      fail("{}: its compressed data are cut off", name_);
    } else if (status != Z_OK) {
      fail("{}: its compressed data are damaged ({})", name_, stream_.msg ? stream_.msg : "unknown error");
    }
  }
  return done;
}

/// A file may be several that were joined, and end in zeros.
bool GzipReader::begin_next_member() {
  if (std::ranges::all_of(rest_, [](std::byte byte) { return byte == std::byte{0}; })) return false;
  if (!is_gzip(rest_)) fail("{}: has {} bytes of something else after its compressed data", name_, rest_.size());
  if (inflateReset(&stream_) != Z_OK) fail("{}: no memory to unpack it", name_);
  return true;
}

}  // namespace ptrain

// Data files that are compressed by gzip, as many are published.
#pragma once

#include "core/io/atomic_file.h"

#include <zlib.h>

#include <cstddef>
#include <filesystem>
#include <functional>
#include <span>
#include <string>

namespace ptrain {

/// Whether a file's bytes start as gzip's do.
bool is_gzip(std::span<const std::byte> bytes);

/// Unpacks gzip's bytes, which must outlive it, front to back: all members, as of files that were joined.
class GzipReader {
 public:
  /// `name` begins every error message.
  GzipReader(std::span<const std::byte> bytes, std::string name);
  ~GzipReader();
  GzipReader(const GzipReader&) = delete;
  GzipReader& operator=(const GzipReader&) = delete;

  /// Fills `out`, or less of it at the end only, and returns how many bytes it wrote. Throws Error{failed} where the
  /// data are damaged or cut off, or something else than zeros follows them.
  std::size_t read(std::span<std::byte> out);

 private:
  bool begin_next_member();

  std::span<const std::byte> rest_;  // what zlib has not taken yet
  std::string name_;
  bool ended_ = false;
  z_stream stream_{};
};

/// Writes what a gzip file holds into a temporary file. Throws as GzipReader does, and where that file cannot be
/// written.
OpenFile unpack_to_temporary_file(const std::filesystem::path& path, std::span<const std::byte> packed);

/// As read_file(), for a file that may be compressed by gzip: what it holds.
std::string read_unpacked_file(const std::filesystem::path& path, WebPages pages = WebPages::refuse);

/// A file's name without ".gz", or ".GZ", which says nothing of its form.
std::filesystem::path remove_gzip_ending(const std::filesystem::path& path);

}  // namespace ptrain

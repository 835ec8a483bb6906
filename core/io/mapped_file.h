// A memory-mapped file that is safe to read: if it shrinks or its disk fails, the result is an error and not SIGBUS.
#pragma once

#include <cstddef>
#include <filesystem>
#include <memory>
#include <span>

namespace ptrain {

/// Whether a file that is compressed (packed_file.h) is unpacked: into a temporary file, which is mapped in its place.
enum class PackedFile { as_stored, unpacked };

/// A read-only mapping of a whole file; pages are read when touched. Bytes that the file has lost meanwhile read as
/// zero: call check() after using bytes, before relying on them.
class MappedFile {
 public:
  /// Throws Error{failed} like read_file, and as unpack_to_temporary_file does.
  explicit MappedFile(const std::filesystem::path& path, PackedFile packed = PackedFile::as_stored);
  ~MappedFile();
  MappedFile(MappedFile&& other) noexcept;
  MappedFile& operator=(MappedFile&& other) noexcept;

  std::span<const std::byte> bytes() const;
  /// Throws Error{failed}, naming the file, if bytes were touched that could not be read, or the file was written to.
  void check() const;
  /// The first half of check(), without a system call: for bytes that are used many times a second.
  void check_bytes() const;

 private:
  struct Mapping;
  std::unique_ptr<Mapping> mapping_;
};

}  // namespace ptrain

// A file read through memory, safely: one that shrinks, or whose disk fails, ends in an error and not in SIGBUS.
#pragma once

#include <cstddef>
#include <filesystem>
#include <memory>
#include <span>

namespace ptrain {

/// A read-only mapping of a whole file; pages are read when touched. Bytes that the file no longer has when they are
/// touched read as zero: whoever has used bytes calls check() before believing them.
class MappedFile {
 public:
  /// Throws Error{failed} like read_file.
  explicit MappedFile(const std::filesystem::path& path);
  ~MappedFile();
  MappedFile(MappedFile&& other) noexcept;
  MappedFile& operator=(MappedFile&& other) noexcept;

  std::span<const std::byte> bytes() const;
  /// Throws Error{failed}, naming the file, when bytes were touched that could not be read.
  void check() const;

 private:
  struct Mapping;
  std::unique_ptr<Mapping> mapping_;
};

}  // namespace ptrain

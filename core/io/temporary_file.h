// Files for what does not fit into memory.
#pragma once

#include "core/io/atomic_file.h"
#include "core/io/descriptor.h"

#include <cstddef>
#include <filesystem>
#include <span>
#include <string>

namespace ptrain {

/// The folder for temporary files: TMPDIR, or /tmp where that is not set. It may be missing.
std::filesystem::path get_temporary_folder();

/// A file without a name, gone when it is closed, in that folder.
class TemporaryFile {
 public:
  /// `subject` begins messages: "train.tsv.gz: cannot be unpacked". Throws Error{failed}, as append() does.
  explicit TemporaryFile(std::string subject);

  /// Throws Error{failed} naming the folder where the bytes cannot be written, such as a full one.
  void append(std::span<const std::byte> bytes);
  /// Reads the bytes from `offset` on, which were appended. Throws Error{failed} where they cannot be read.
  void read(std::size_t offset, std::span<std::byte> bytes) const;
  std::size_t size() const { return bytes_; }
  /// The open file, which the caller closes.
  OpenFile release() { return {file_.release(), bytes_}; }

 private:
  [[noreturn]] void refuse(int error) const;

  std::string subject_;
  std::filesystem::path folder_;
  Descriptor file_;
  std::size_t bytes_ = 0;
};

}  // namespace ptrain

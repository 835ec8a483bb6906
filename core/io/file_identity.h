// Tells whether a file is still the one that was opened before.
#pragma once

#include "core/base/errors.h"

#include <cstdint>
#include <filesystem>

namespace ptrain {

/// A file that was replaced or written to while its content was relied on. Its code is ExitCode::failed.
class ChangedFile : public Error {
 public:
  explicit ChangedFile(const std::filesystem::path& path)
      : Error(ExitCode::failed,
              fmt::format("{}: was replaced or written to while it was read; start again when it is complete",
                          path.string())) {}
};

/// What changes when a file is replaced or written to: device, number, size and time of the last change of its content.
struct FileIdentity {
  std::uint64_t device = 0, number = 0, bytes = 0;
  std::int64_t seconds = 0, nanoseconds = 0;

  bool operator==(const FileIdentity&) const = default;
};

/// The identity of an open file.
FileIdentity identify_file(int descriptor);
/// Of the file at a path; an empty one where there is none.
FileIdentity identify_file(const std::filesystem::path& path);

}  // namespace ptrain

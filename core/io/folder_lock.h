// One process at a time writes into a folder.
#pragma once

#include <filesystem>

namespace ptrain {

/// Holds `folder`, which is made if need be, until it is destroyed. Throws Error{failed} that names the process that
/// holds it already. The system itself lets go of what a dead process held, on network file systems too. Where the file
/// system knows no locks nothing is held.
class FolderLock {
 public:
  explicit FolderLock(const std::filesystem::path& folder);
  ~FolderLock();
  FolderLock(const FolderLock&) = delete;
  FolderLock& operator=(const FolderLock&) = delete;

 private:
  std::filesystem::path path_;
  int descriptor_ = -1;
};

}  // namespace ptrain

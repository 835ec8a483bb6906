// A lock that lets one process at a time write into a folder.
#pragma once

#include <filesystem>

namespace ptrain {

/// Locks `folder`, creating it if needed, until destroyed. Throws Error{failed} naming the process that holds the lock
/// already. The system releases a dead process's lock, also on network file systems. Without lock support in the file
/// system there is no lock.
class FolderLock {
 public:
  explicit FolderLock(const std::filesystem::path& folder);
  ~FolderLock();
  FolderLock(const FolderLock&) = delete;
  FolderLock& operator=(const FolderLock&) = delete;

  /// Whether a process, this one or another, holds the lock of `folder` now.
  static bool is_held(const std::filesystem::path& folder);

 private:
  std::filesystem::path path_;
  int descriptor_ = -1;
};

}  // namespace ptrain

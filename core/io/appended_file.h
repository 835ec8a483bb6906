// A file that grows while a run writes to it: what was appended is on disk at once.
#pragma once

#include <filesystem>
#include <string_view>

namespace ptrain {

class AppendedFile {
 public:
  /// Replaces the file with `content`, and makes its folder. Throws Error{failed} naming the path when it cannot be
  /// written.
  AppendedFile(const std::filesystem::path& path, std::string_view content);
  ~AppendedFile();
  AppendedFile(const AppendedFile&) = delete;
  AppendedFile& operator=(const AppendedFile&) = delete;

  /// Throws Error{failed}: the disk is full, or someone removed the file.
  void append(std::string_view bytes);

 private:
  std::filesystem::path path_;
  int descriptor_ = -1;
};

}  // namespace ptrain

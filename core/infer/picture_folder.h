// A folder for pictures made from images, under the images' names.
#pragma once

#include <cstdint>
#include <filesystem>
#include <set>
#include <string>
#include <vector>

namespace ptrain {

class PictureFolder {
 public:
  /// Creates the folder. Throws Error{failed} on I/O.
  explicit PictureFolder(std::filesystem::path folder);

  /// FOLDER/NAME, NAME being the image's without suffix, with a number if another image had it.
  std::filesystem::path name_pictures(const std::string& image);

 private:
  std::filesystem::path folder_;
  std::set<std::string> used_;
};

/// Writes a PNG. Throws Error{failed} on I/O.
void write_png(const std::filesystem::path& path, const std::vector<std::uint8_t>& bytes);

}  // namespace ptrain

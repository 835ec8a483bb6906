// A folder for pictures made from images, under the images' names.
#pragma once

#include <cstdint>
#include <filesystem>
#include <set>
#include <string>
#include <string_view>
#include <vector>

namespace ptrain {

/// Throws Error{usage} naming `option` if a picture in `folder` is one of the inputs, or in one that is a folder: it
/// would be painted over.
void require_free_pictures(std::string_view option, const std::filesystem::path& folder,
                           const std::vector<std::filesystem::path>& inputs);

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

// A folder for pictures made from images, under the images' names.
#pragma once

#include "core/data/image/png_image.h"

#include <filesystem>
#include <set>
#include <string>

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

/// The first `count` colours of PASCAL VOC's palette, in which the bits of a number are dealt to red, green and blue.
std::vector<std::array<std::uint8_t, 3>> voc_palette(std::size_t count);

}  // namespace ptrain

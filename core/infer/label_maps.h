// Writes the label maps that segmentation predicts, at the size of their images.
#pragma once

#include "core/data/dataset.h"
#include "core/data/image/png_image.h"

#include <filesystem>
#include <set>
#include <string>

namespace ptrain {

class LabelMapFolder {
 public:
  /// Creates the folder. `data` is the model's. Throws Error{usage} for more classes than a palette has, Error{failed}
  /// on I/O.
  LabelMapFolder(std::filesystem::path folder, const DatasetInfo& data);

  /// Writes NAME.png, whose values are class numbers, with PASCAL VOC's palette, and NAME_overlay.png, the image with
  /// the classes' colours over it; NAME is the image's without suffix, with a number if another image had it. `map` is
  /// of the frame that the model saw. Throws Error{failed} where the image cannot be read, and on I/O.
  void write(const std::string& image, const IndexImage& map);

 private:
  std::filesystem::path find_free(const std::string& name);

  std::filesystem::path folder_;
  DatasetInfo data_;
  std::set<std::string> used_;
};

/// The first `count` colours of PASCAL VOC's palette, in which the bits of a number are dealt to red, green and blue.
std::vector<std::array<std::uint8_t, 3>> voc_palette(std::size_t count);

}  // namespace ptrain

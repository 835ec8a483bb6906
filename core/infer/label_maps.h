// Writes the label maps that segmentation predicts, at the size of their images.
#pragma once

#include "core/data/dataset.h"
#include "core/infer/picture_folder.h"

namespace ptrain {

class LabelMapFolder {
 public:
  /// Creates the folder. `data` is the model's. Throws Error{usage} for more classes than a palette has, Error{failed}
  /// on I/O.
  LabelMapFolder(std::filesystem::path folder, const DatasetInfo& data);

  /// Writes NAME.png, whose values are class numbers, with PASCAL VOC's palette, and NAME_overlay.png, the image with
  /// the classes' colours over it; NAME is the image's without suffix, with a number if another image had it. `labels`
  /// is of the image's size. Throws Error{failed} where the image cannot be read, and on I/O.
  void write(const std::string& image, const IndexImage& labels);

 private:
  DatasetInfo data_;
  PictureFolder folder_;
};

}  // namespace ptrain

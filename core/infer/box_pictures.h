// Draws the objects that detection finds on their images.
#pragma once

#include "core/data/dataset.h"
#include "core/infer/picture_folder.h"
#include "core/tasks/detected_box.h"

#include <span>

namespace ptrain {

class BoxPictureFolder {
 public:
  /// Creates the folder. `data` is the model's. Throws Error{failed} on I/O.
  BoxPictureFolder(std::filesystem::path folder, const DatasetInfo& data) : data_(data), folder_(std::move(folder)) {}

  /// Writes NAME.png: the image with the boxes of objects whose score is at least least_shown_score, each with its
  /// class's name and its score, and with the masks where there are some; NAME as PictureFolder has it. Boxes are in px
  /// of the image. Throws Error{failed} where the image cannot be read, and on I/O.
  void write(const std::string& image, std::span<const DetectedBox> objects);

 private:
  DatasetInfo data_;
  PictureFolder folder_;
};

}  // namespace ptrain

// PASCAL VOC's annotation files, one per image.
#pragma once

#include "core/data/boxes/annotated_images.h"

#include <string_view>

namespace ptrain {

struct VocObject {
  std::string name;
  std::array<double, 4> box{};  // x and y of the upper left corner, width and height: 1-based corners are included
  bool difficult = false;
};

struct VocAnnotation {
  std::string file_name;      // empty: not given
  int width = 0, height = 0;  // px; 0: not given
  std::vector<VocObject> objects;
};

/// Throws Error{failed} beginning with `name` for text that is no XML or no annotation, and naming the object whose
/// name is missing or whose corners are missing, no numbers or in the wrong order.
VocAnnotation parse_voc(std::string_view text, const std::string& name);

}  // namespace ptrain

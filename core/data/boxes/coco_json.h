// COCO's annotation files: {"images": [...], "annotations": [...], "categories": [...]}.
#pragma once

#include "core/data/boxes/annotated_images.h"

#include <istream>

namespace ptrain {

/// Whether the masks of objects are kept, of which polygons take their time.
enum class ObjectMasks { skip, read };

/// Reads the file `name`, whose images are in `folder`. Classes are the categories in the order of their ids; with
/// `classes` above the largest id they are the ids themselves, as in models of torchvision (91), and ids without a
/// category are classes named "unused 12". Images are in the order of their ids. Boxes are as in the file, also those
/// outside the image and without area, which evaluations require like pycocotools but training leaves out. Throws
/// Error{failed} naming the file, and the annotation, category or image that is damaged, occurs twice, or refers to
/// something that is absent, and masks of run lengths that do not fit their image. With ObjectMasks::read also names
/// annotations without a mask, or with one far outside the image.
AnnotatedImages parse_coco(std::istream& file, const std::string& name, const std::string& folder, int classes = 0,
                           ObjectMasks masks = ObjectMasks::skip);

}  // namespace ptrain

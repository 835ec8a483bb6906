// A data set of images with boxes, which are decoded when loaded.
#pragma once

#include "core/data/boxes/annotated_images.h"
#include "core/data/factory.h"

#include <memory>

namespace ptrain {

/// In training, images without an object that can be learnt are left out, and images are mirrored at random unless
/// settings.augment is none. Images fit into settings.image_size (empty: 512 px) and are padded. `place` names the
/// annotations in messages. Throws Error{failed} when no image is left.
std::unique_ptr<Dataset> make_box_dataset(AnnotatedImages annotated, const DataSettings& settings, Split split,
                                          const std::string& place);

}  // namespace ptrain

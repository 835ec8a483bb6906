// RegNetY (Radosavovic et al. 2020): bottlenecks with grouped convolutions and squeeze and excitation; variables have
// torchvision's names.
#pragma once

#include "models/vision/image_model.h"

namespace ptrain {

/// In its published size, for `spec`'s classes and image size.
std::unique_ptr<Model> make_regnet_y_400mf(const ImageSpec& spec);

}  // namespace ptrain

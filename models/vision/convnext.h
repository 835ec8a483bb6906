// ConvNeXt (Liu et al. 2022): 7x7 depthwise convolutions between layer norms and linear layers of each pixel; variables
// have torchvision's names.
#pragma once

#include "models/vision/image_model.h"

namespace ptrain {

/// ConvNeXt-T: 3, 3, 9 and 3 blocks of 96 to 768 channels.
std::unique_ptr<Model> make_convnext_tiny(const ImageSpec& spec);

}  // namespace ptrain

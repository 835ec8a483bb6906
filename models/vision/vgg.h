// VGG with 16 layers (Simonyan and Zisserman 2015); variables have torchvision's names. Dropout follows each of the two
// hidden linear layers.
#pragma once

#include "models/vision/image_model.h"

namespace ptrain {

/// Convolutions have a bias in both forms. The final feature map is pooled to 7 x 7 as in torchvision. Throws
/// Error{usage}, and so does the model, for images that are too small for five halvings.
std::unique_ptr<Model> make_vgg16(const ImageSpec& spec);
/// With batch norms between the convolutions and their ReLUs.
std::unique_ptr<Model> make_vgg16_bn(const ImageSpec& spec);

}  // namespace ptrain

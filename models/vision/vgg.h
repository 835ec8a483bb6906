// VGG of 16 layers (Simonyan and Zisserman 2015); variables bear torchvision's names. Dropout is behind each of the two
// hidden linear layers.
#pragma once

#include "models/vision/image_model.h"

namespace ptrain {

/// Convolutions have a bias in both forms. What is left of an image is averaged, or spread, to 7 x 7 as torchvision
/// does. Throws Error{usage}, and the model does, for images that five halvings leave nothing of.
std::unique_ptr<Model> make_vgg16(const ImageSpec& spec);
/// Batch norms stand between the convolutions and their ReLUs.
std::unique_ptr<Model> make_vgg16_bn(const ImageSpec& spec);

}  // namespace ptrain

// MobileNetV1 (Howard et al. 2017), V2 (Sandler et al. 2018) and V3-Large (Howard et al. 2019): depthwise convolutions,
// then 1x1 convolutions. Variables have timm's names (mobilenetv1_100) and torchvision's (mobilenet_v2,
// mobilenet_v3_large).
#pragma once

#include "models/vision/image_model.h"

namespace ptrain {

/// In their published size, for `spec`'s classes and image size.
std::unique_ptr<Model> make_mobilenet_v1(const ImageSpec& spec);
std::unique_ptr<Model> make_mobilenet_v2(const ImageSpec& spec);
std::unique_ptr<Model> make_mobilenet_v3_large(const ImageSpec& spec);

}  // namespace ptrain

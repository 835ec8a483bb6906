// EfficientNet-B0 (Tan and Le 2019): inverted residuals with squeeze and excitation and SiLU; variables bear
// torchvision's names.
#pragma once

#include "models/vision/image_model.h"

namespace ptrain {

/// Block i of n leaves its branch out of a sample with i / n of the probability.
std::unique_ptr<Model> make_efficientnet_b0(const ImageSpec& spec);

}  // namespace ptrain

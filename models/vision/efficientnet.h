// EfficientNet-B0 (Tan and Le 2019): inverted residuals with squeeze and excitation and SiLU; variables have
// torchvision's names.
#pragma once

#include "models/vision/image_model.h"

namespace ptrain {

/// Block i of n has i / n of the largest stochastic depth probability.
std::unique_ptr<Model> make_efficientnet_b0(const ImageSpec& spec);

}  // namespace ptrain

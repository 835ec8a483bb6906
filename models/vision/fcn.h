// A small fully convolutional network (Long et al. 2015) of three convolutions, for tests of segmentation.
#pragma once

#include "models/vision/image_model.h"

namespace ptrain {

/// Logits [N, H, W, classes].
std::unique_ptr<Model> make_fcn_tiny(const ImageSpec& spec);

}  // namespace ptrain

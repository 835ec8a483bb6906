// Vision transformers: ViT-B/16 (Dosovitskiy et al. 2021) with torchvision's names of variables, and DeiT-S (Touvron et
// al. 2021) with timm's.
#pragma once

#include "models/vision/image_model.h"

namespace ptrain {

/// Positions are for images of the specification's size. Throws Error{usage} when patches do not divide it, and so does
/// the model for images of another size.
std::unique_ptr<Model> make_vit_b_16(const ImageSpec& spec);
std::unique_ptr<Model> make_deit_small(const ImageSpec& spec);

}  // namespace ptrain

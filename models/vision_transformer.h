// Vision transformers: ViT-B/16 (Dosovitskiy et al. 2021) with torchvision's names of variables, and DeiT-S (Touvron et
// al. 2021) with timm's.
#pragma once

#include "core/config/config.h"
#include "core/data/dataset.h"
#include "models/vision_blocks.h"

namespace ptrain {

enum class VisionTransformerForm { vit_b_16, deit_small };

struct VisionTransformerSpec {
  VisionTransformerForm form = VisionTransformerForm::vit_b_16;
  std::int64_t classes = 1000;
  std::int64_t image_size = 224;  // which the positions are for
  AttentionAlgorithm attention = AttentionAlgorithm::flash;
  float label_smoothing = 0;
  float stochastic_depth = 0.1f;  // of the last block's branches; those before are left out of fewer samples
  PixelScale pixels = {};
};

/// What the configuration and the data ask for.
VisionTransformerSpec vision_transformer_spec(VisionTransformerForm form, const Config& config,
                                              const DatasetInfo& data);

/// Throws Error{usage} when patches do not divide the image. The model does so too for images of another size.
std::unique_ptr<Model> make_vision_transformer(const VisionTransformerSpec& spec);

}  // namespace ptrain

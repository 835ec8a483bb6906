// VGG of 16 layers (Simonyan and Zisserman 2015), with or without batch norms; variables bear torchvision's names.
#pragma once

#include "core/config/config.h"
#include "core/data/dataset.h"
#include "models/vision_blocks.h"

namespace ptrain {

/// What stands between a convolution and its ReLU. Convolutions have a bias in both forms.
enum class VggForm { plain, batch_norm };

struct VggSpec {
  VggForm form = VggForm::plain;
  std::int64_t classes = 1000;
  std::int64_t image_size = 224;  // 32 or more; what is left of it is averaged, or spread, to 7 x 7 as torchvision does
  float label_smoothing = 0;
  float dropout = 0.5f;  // behind each of the two hidden linear layers
  PixelScale pixels = {};
};

/// What the configuration and the data ask for.
VggSpec vgg_spec(VggForm form, const Config& config, const DatasetInfo& data);

/// Throws Error{usage} for images that five halvings leave nothing of.
std::unique_ptr<Model> make_vgg(const VggSpec& spec);

}  // namespace ptrain

// DeepLabV3 (Chen et al. 2017) and V3+ (Chen et al. 2018) for semantic segmentation, on a dilated ResNet-50.
#pragma once

#include "models/vision/resnet.h"

namespace ptrain {

/// v3: an auxiliary head on the third stage, in training; variables have torchvision's names. v3_plus: a decoder with
/// features of the first stage; those of VainF's DeepLabV3Plus-Pytorch.
enum class DeepLabForm { v3, v3_plus };

struct DeepLabSpec : ResNetSpec {
  DeepLabForm deeplab = DeepLabForm::v3;
};

/// Dropout is that after the pyramid's projection; the auxiliary head has a fifth of it (torchvision: 0.5 and 0.1). The
/// output stride is model.output_stride, or if that is 0 the 8 of torchvision's V3 or the 16 of V3+. Throws
/// Error{usage} when it is neither 8 nor 16.
DeepLabSpec deeplab_spec(DeepLabForm form, const Config& config, const DatasetInfo& data);

/// Logits [N, H, W, classes] at the size of the images.
std::unique_ptr<Model> make_deeplab(const DeepLabSpec& spec);

}  // namespace ptrain

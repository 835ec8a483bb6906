// ResNet 18 to 152 (He et al. 2016), version 1.5: a bottleneck's stride is in its 3x3 convolution. Also ResNeXt (Xie et
// al. 2017), whose 3x3 convolutions are grouped, wide ResNets (Zagoruyko and Komodakis 2016), and a ResNet over the
// frames of a clip: Temporal Segment Networks (Wang et al. 2016).
#pragma once

#include "models/vision/image_model.h"

namespace ptrain {

/// ResNet-D (He et al. 2019, "Bag of Tricks") begins with three 3x3 convolutions, and its projections average before
/// they reduce an image. Variables then have timm's names.
enum class ResNetForm { plain, d };

struct ResNetSpec : ImageSpec {
  int depth = 50;                   // 18, 34, 50, 101 or 152
  std::int64_t base_channels = 64;  // of the stem; doubled in each stage after the first
  int groups = 1;                   // of a bottleneck's 3x3 convolution
  int group_width = 64;             // its channels per group in the first stage, doubled in each later one
  ResNetForm form = ResNetForm::plain;
  bool blur_pool = false;          // blurs before every 3x3 convolution with a stride and before max pooling
  bool zero_init_residual = true;  // the last norm of each block starts at 0, so that blocks start as identities
  int output_stride = 32;          // of the last stage; less: later stages are dilated
  std::int64_t segments = 0;       // frames of a clip, which is a sample; 0: samples are images
};

/// The spec for a configuration and data. Clips go through the network frame by frame, in the order of mmaction2's
/// TSNHead: the mean over each frame, the mean over the frames (both at once here), dropout, the classifier. Files then
/// have mmaction2's names; training may also start from a file with torchvision's.
ResNetSpec resnet_spec(const Config& config, const DatasetInfo& data);

/// Throws Error{usage} when the depth is not one of the five, or is grouped or wide without bottlenecks.
std::unique_ptr<Model> make_resnet(const ResNetSpec& spec);

}  // namespace ptrain

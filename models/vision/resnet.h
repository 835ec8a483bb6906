// ResNet 18 to 152 (He et al. 2016), version 1.5: the stride of a bottleneck lies in its 3x3 convolution. Also ResNeXt
// (Xie et al. 2017), whose 3x3 convolutions are grouped, wide ResNets (Zagoruyko and Komodakis 2016), and a ResNet over
// the frames of a clip: Temporal Segment Networks (Wang et al. 2016).
#pragma once

#include "models/vision/image_model.h"

namespace ptrain {

/// Where ResNet-D (He et al. 2019, "Bag of Tricks") differs: three 3x3 convolutions begin, and projections that shrink
/// an image average it first. Variables then bear timm's names.
enum class ResNetForm { plain, d };

struct ResNetSpec : ImageSpec {
  int depth = 50;                   // 18, 34, 50, 101 or 152
  std::int64_t base_channels = 64;  // of the stem and, doubled in each later one, of the stages
  int groups = 1;                   // of a bottleneck's 3x3 convolution
  int group_width = 64;             // its channels to each group in the first stage, doubled in each later one
  ResNetForm form = ResNetForm::plain;
  bool blur_pool = false;  // a 3x3 convolution with a stride, and the max pooling, blur before they leave out pixels
  bool zero_init_residual = true;  // the last norm of each block starts at 0, so that blocks start as identities
  std::int64_t segments = 0;       // frames of a clip, a sample; 0: samples are images
};

/// What the configuration and the data ask for. Clips go through the network frame by frame; then the order is that of
/// mmaction2's TSNHead: the mean over each frame, the mean over the frames (both at once here), dropout, the
/// classifier. Files have mmaction2's names then, and a start may be a file with torchvision's.
ResNetSpec resnet_spec(const Config& config, const DatasetInfo& data);

/// Throws Error{usage} when the depth is none of the five, or not one of bottlenecks and yet grouped or wide.
std::unique_ptr<Model> make_resnet(const ResNetSpec& spec);

}  // namespace ptrain

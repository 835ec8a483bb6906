// DeepLabV3+ on Xception-65 (Chollet 2017, as Chen et al. 2018 changed it) in the form of Fluid 1.3's model zoo.
#pragma once

#include "models/vision/image_model.h"

namespace ptrain {

/// Over a batch, or over 32 groups of the channels of each image (Wu and He 2018), for batches of few images.
enum class XceptionNorm { batch, group };

struct DeepLabXceptionSpec : ImageSpec {
  XceptionNorm norm = XceptionNorm::batch;
};

/// The spec for a configuration and data; dropout is that after the pyramid's projection (Fluid: 0.1).
DeepLabXceptionSpec deeplab_xception_spec(XceptionNorm norm, const Config& config, const DatasetInfo& data);

/// Logits [N, H, W, classes] at the size of the images. Features have a sixteenth of it; the decoder's low-level ones a
/// quarter.
std::unique_ptr<Model> make_deeplab_xception(const DeepLabXceptionSpec& spec);

}  // namespace ptrain

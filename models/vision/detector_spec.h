// What detectors on a feature pyramid have in common.
#pragma once

#include "models/vision/resnet.h"

#include <string>

namespace ptrain {

struct DetectorSpec : ResNetSpec {
  bool frozen_norms = true;  // the ResNet's batch norms stay as its weights have them
  std::int64_t width = 256;  // channels of the pyramid and of the heads' convolutions
};

/// The published form, torchvision's.
DetectorSpec detector_spec(const Config& config, const DatasetInfo& data);
/// Makes it a small one that learns in seconds, for tests.
void shrink(DetectorSpec& spec);
/// What tells its variables from those of a detector with the other norms.
std::string describe_norms(const DetectorSpec& spec);

}  // namespace ptrain

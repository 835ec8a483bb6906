#include "models/vision/detector_spec.h"

namespace ptrain {

DetectorSpec detector_spec(const Config& config, const DatasetInfo& data) {
  DetectorSpec spec{{image_spec(config, data)}};
  spec.stem = Stem::imagenet;
  spec.zero_init_residual = false;
  spec.frozen_norms = config.model.frozen_norms;
  return spec;
}

void shrink(DetectorSpec& spec) {
  spec.depth = 18;
  spec.base_channels = 16;
  spec.frozen_norms = false;
  spec.width = 32;
}

std::string describe_norms(const DetectorSpec& spec) { return spec.frozen_norms ? " frozen_norms" : " batch_norms"; }

}  // namespace ptrain

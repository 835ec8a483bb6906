#include "models/vision/fcn.h"

#include "core/data/tensor_names.h"
#include "models/vision/vision_blocks.h"

namespace ptrain {
namespace {

class FcnBuilder final : public VisionBlocks {
 public:
  using VisionBlocks::VisionBlocks;

  BuiltModel build(const Bucket& batch) {
    constexpr ConvSpec layer{.channels = 16, .kernel = 3, .bias = ConvBias::zero};
    const ConvSpec scores{.channels = spec().classes, .kernel = 1, .bias = ConvBias::zero};
    ValueId x = relu("relu1", convolution("conv1", inputs(batch), layer));
    const ValueId auxiliary = convolution("auxiliary", x, scores);
    if (training()) graph_.set_output(tensor_names::auxiliary, auxiliary);
    x = relu("relu2", convolution("conv2", x, layer));
    return finish(convolution("classifier", x, scores));
  }
};

}  // namespace

std::unique_ptr<Model> make_fcn_tiny(const ImageSpec& spec) {
  return std::make_unique<ImageModel<FcnBuilder>>("fcn_tiny", spec);
}

}  // namespace ptrain

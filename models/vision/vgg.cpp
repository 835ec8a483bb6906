#include "models/vision/vgg.h"

#include "core/base/errors.h"
#include "models/vision/vision_blocks.h"

namespace ptrain {
namespace {

/// 3x3 convolutions with equally many channels, then max pooling by 2.
struct VggStage {
  int convolutions;
  std::int64_t channels;
};

constexpr std::array<VggStage, 5> vgg_stages{{{2, 64}, {2, 128}, {3, 256}, {3, 512}, {3, 512}}};
constexpr std::int64_t smallest_vgg_image = 1 << vgg_stages.size();  // px
constexpr std::int64_t vgg_grid = 7, vgg_hidden = 4096;

/// Layers between a convolution and its ReLU.
enum class VggForm { plain, batch_norm };
const char* vgg_name(VggForm form) { return form == VggForm::plain ? "vgg16" : "vgg16_bn"; }

void require_vgg_size(VggForm form, const char* key, ImageSize size) {
  if (size.shorter_side() >= smallest_vgg_image) return;
  fail_usage("{}: {} halves images five times: expected {} px or more, got {}", key, vgg_name(form), smallest_vgg_image,
             size);
}

template <VggForm form>
class VggBuilder final : public VisionBlocks {
 public:
  using VisionBlocks::VisionBlocks;

  BuiltModel build(const Bucket& batch) {
    require_vgg_size(form, "train.phases.image_size", image_size(batch));
    return finish(logits(features(inputs(batch))));
  }

 private:
  /// torchvision numbers convolutions, norms, ReLUs and pools consecutively.
  ValueId features(ValueId x) {
    int index = 0;
    const auto next = [&] { return fmt::format("features.{}", index++); };
    for (const VggStage& stage : vgg_stages) {
      const ConvSpec spec{.channels = stage.channels, .kernel = 3, .bias = ConvBias::zero};
      for (int i = 0; i < stage.convolutions; ++i) {
        x = convolution(next(), x, spec);
        if (form == VggForm::batch_norm) x = batch_norm(next(), x, NormStart::one);
        x = relu(next(), x);
      }
      x = max_pool(next(), x, 2, 2, 0);
    }
    return x;
  }

  ValueId logits(ValueId x) {
    const Initializer start = normal_start(0.01f), zero = constant_start(0);
    x = grid_linear("avgpool", "classifier.0", x, vgg_grid, vgg_hidden, start);
    x = dropout("classifier.2", relu("classifier.1", x));
    x = linear("classifier.3", x, of_head(make_variable("classifier.3.weight", Shape{vgg_hidden, vgg_hidden}, start)),
               of_head(make_variable("classifier.3.bias", Shape{vgg_hidden}, zero)));
    x = dropout("classifier.5", relu("classifier.4", x));
    return class_scores("classifier.6", x, start);
  }
};

template <VggForm form>
std::unique_ptr<Model> make_vgg(const ImageSpec& spec) {
  require_vgg_size(form, "data.image_size", spec.image_size);
  return std::make_unique<ImageModel<VggBuilder<form>>>(vgg_name(form), spec);
}

}  // namespace

std::unique_ptr<Model> make_vgg16(const ImageSpec& spec) { return make_vgg<VggForm::plain>(spec); }
std::unique_ptr<Model> make_vgg16_bn(const ImageSpec& spec) { return make_vgg<VggForm::batch_norm>(spec); }

}  // namespace ptrain

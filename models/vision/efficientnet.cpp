#include "models/vision/efficientnet.h"

#include "core/ops/image/global_average_pool.h"
#include "models/vision/vision_blocks.h"

#include <cmath>

namespace ptrain {
namespace {

/// A stage of equal blocks; the first has the stride.
struct MbConvStage {
  int blocks;
  int expansion;  // ratio of filtered to input channels
  int kernel;
  std::int64_t channels;  // output channels
  int stride;
};

constexpr std::array<MbConvStage, 7> b0_stages{{{1, 1, 3, 16, 1},
                                                {2, 6, 3, 24, 2},
                                                {2, 6, 5, 40, 2},
                                                {3, 6, 3, 80, 2},
                                                {3, 6, 5, 112, 1},
                                                {4, 6, 5, 192, 2},
                                                {1, 6, 3, 320, 1}}};
constexpr int b0_blocks = [] {
  int total = 0;
  for (const MbConvStage& stage : b0_stages) total += stage.blocks;
  return total;
}();
constexpr std::int64_t b0_stem = 32, b0_features = 1280, b0_squeeze = 4;

class EfficientNetBuilder final : public VisionBlocks {
 public:
  using VisionBlocks::VisionBlocks;

  BuiltModel build(const Bucket& batch) {
    ValueId x = blocks(conv_norm_act("features.0", inputs(batch), {b0_stem, 3, first_stride()}, Activation::silu));
    x = conv_norm_act(fmt::format("features.{}", b0_stages.size() + 1), x, {b0_features, 1}, Activation::silu);
    x = dropout("classifier.0", add("avgpool", std::make_shared<GlobalAveragePool>(), {x}));
    const Initializer start = uniform_start(1.0f / std::sqrt(static_cast<float>(spec().classes)));
    return finish(class_scores("classifier.1", x, start));
  }

 private:
  ValueId blocks(ValueId x) {
    int index = 0;
    for (std::size_t stage = 0; stage < b0_stages.size(); ++stage) {
      for (int i = 0; i < b0_stages[stage].blocks; ++i) {
        const float depth = static_cast<float>(index++) / static_cast<float>(b0_blocks);
        x = block(fmt::format("features.{}.{}", stage + 1, i), x, b0_stages[stage],
                  i == 0 ? b0_stages[stage].stride : 1, depth);
      }
    }
    return x;
  }

  /// torchvision's MBConv; `depth` in [0, 1).
  ValueId block(const std::string& name, ValueId x, const MbConvStage& stage, int stride, float depth) {
    ValueId y = x;
    int part = 0;
    const auto next = [&] { return fmt::format("{}.block.{}", name, part++); };
    if (stage.expansion > 1) y = conv_norm_act(next(), y, {channels(x) * stage.expansion, 1}, Activation::silu);
    y = conv_norm_act(next(), y, depthwise(y, stride, stage.kernel), Activation::silu);
    y = squeeze_excite(next(), y, {channels(x) / b0_squeeze, Activation::silu, Activation::sigmoid});
    const std::string last = next();
    y = conv_norm(last + ".0", last + ".1", y, {stage.channels, 1});
    if (stride > 1 || channels(x) != stage.channels) return y;
    return sum(name + ".add", x, sample_dropout(name + ".stochastic_depth", y, depth));
  }
};

}  // namespace

std::unique_ptr<Model> make_efficientnet_b0(const ImageSpec& spec) {
  return std::make_unique<ImageModel<EfficientNetBuilder>>("efficientnet_b0", spec, stem_detail(spec.stem));
}

}  // namespace ptrain

#include "models/vision/convnext.h"

#include "core/ops/image/global_average_pool.h"
#include "core/ops/normalization/layer_scale.h"
#include "models/vision/vision_blocks.h"

namespace ptrain {
namespace {

struct ConvNextStage {
  int blocks;
  std::int64_t channels;
};
constexpr std::array<ConvNextStage, 4> tiny_stages{{{3, 96}, {3, 192}, {9, 384}, {3, 768}}};
constexpr int tiny_blocks = [] {
  int total = 0;
  for (const ConvNextStage& stage : tiny_stages) total += stage.blocks;
  return total;
}();
constexpr int first_side = 4, later_side = 2, filter_side = 7, tiny_expansion = 4;
constexpr float layer_scale_start = 1e-6f;

class ConvNextBuilder final : public VisionBlocks {
 public:
  using VisionBlocks::VisionBlocks;

  BuiltModel build(const Bucket& batch) {
    ValueId x = inputs(batch);
    int index = 0;
    for (std::size_t stage = 0; stage < tiny_stages.size(); ++stage) {
      x = smaller(stage, x);
      for (int i = 0; i < tiny_stages[stage].blocks; ++i) {
        const float depth = static_cast<float>(index++) / static_cast<float>(tiny_blocks - 1);
        x = block(fmt::format("features.{}.{}", 2 * stage + 1, i), x, depth);
      }
    }
    x = layer_norm("classifier.0", add("avgpool", std::make_shared<GlobalAveragePool>(), {x}),
                   WeightMapping::Part::head);
    return finish(class_scores("classifier.2", x, normal_start(layer_norm_networks_deviation)));
  }

 private:
  /// Downsamples: the first stage normalises after its convolution, the others before it.
  ValueId smaller(std::size_t stage, ValueId x) {
    const std::string name = fmt::format("features.{}", 2 * stage);
    const std::int64_t channels = tiny_stages[stage].channels;
    if (stage == 0) return layer_norm(name + ".1", patches(name + ".0", x, channels, first_side));
    return patches(name + ".1", layer_norm(name + ".0", x), channels, later_side);
  }

  /// `depth` in [0, 1].
  ValueId block(const std::string& name, ValueId x, float depth) {
    ConvSpec filter = depthwise(x, 1, filter_side);
    filter.bias = ConvBias::zero;
    filter.deviation = layer_norm_networks_deviation;
    ValueId y = layer_norm(name + ".block.2", convolution(name + ".block.0", x, filter));
    y = gelu_layers(name + ".block.3", name + ".block.5", y, tiny_expansion * channels(x));
    ModelVariable scale = make_variable(name + ".layer_scale", Shape{channels(x)}, constant_start(layer_scale_start));
    scale.files.front().external_shape = Shape{channels(x), 1, 1};
    y = add(name + ".scaled", std::make_shared<LayerScale>(), {y, parameter(std::move(scale))});
    return sum(name + ".add", x, sample_dropout(name + ".stochastic_depth", y, depth));
  }
};

}  // namespace

std::unique_ptr<Model> make_convnext_tiny(const ImageSpec& spec) {
  return std::make_unique<ImageModel<ConvNextBuilder>>("convnext_tiny", spec);
}

}  // namespace ptrain

#include "models/vision/regnet.h"

#include "core/ops/image/global_average_pool.h"
#include "models/vision/vision_blocks.h"

namespace ptrain {
namespace {

/// A stage of equal blocks; the first halves the image.
struct RegNetStage {
  int blocks;
  std::int64_t channels;
};
constexpr std::array<RegNetStage, 4> y_400mf_stages{{{1, 48}, {3, 104}, {6, 208}, {6, 440}}};
constexpr std::int64_t regnet_stem = 32, group_width = 8, regnet_squeeze = 4;

class RegNetBuilder final : public VisionBlocks {
 public:
  using VisionBlocks::VisionBlocks;

  BuiltModel build(const Bucket& batch) {
    ValueId x = conv_norm_relu("stem.0", "stem.1", inputs(batch), {regnet_stem, 3, first_stride()});
    for (std::size_t stage = 0; stage < y_400mf_stages.size(); ++stage) {
      for (int i = 0; i < y_400mf_stages[stage].blocks; ++i) {
        x = block(fmt::format("trunk_output.block{0}.block{0}-{1}", stage + 1, i), x, y_400mf_stages[stage].channels,
                  i == 0 ? 2 : 1);
      }
    }
    x = add("avgpool", std::make_shared<GlobalAveragePool>(), {x});
    return finish(class_scores("fc", x, normal_start(0.01f)));
  }

 private:
  ValueId block(const std::string& name, ValueId x, std::int64_t width, int stride) {
    const auto groups = static_cast<int>(width / group_width);
    ValueId y = conv_norm_relu(name + ".f.a.0", name + ".f.a.1", x, {width, 1});
    y = conv_norm_relu(name + ".f.b.0", name + ".f.b.1", y, {width, 3, stride, groups});
    y = squeeze_excite(name + ".f.se", y, {channels(x) / regnet_squeeze, Activation::relu, Activation::sigmoid});
    y = conv_norm(name + ".f.c.0", name + ".f.c.1", y, {width, 1});
    const ValueId shortcut = stride == 1 ? x : conv_norm(name + ".proj.0", name + ".proj.1", x, {width, 1, stride});
    return add_relu(name, y, shortcut);
  }
};

}  // namespace

std::unique_ptr<Model> make_regnet_y_400mf(const ImageSpec& spec) {
  return std::make_unique<ImageModel<RegNetBuilder>>("regnet_y_400mf", spec, stem_detail(spec.stem));
}

}  // namespace ptrain

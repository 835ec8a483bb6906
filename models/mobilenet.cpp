#include "models/mobilenet.h"

namespace ptrain {
namespace {

/// Blocks alike: the first has the stride.
struct Stage {
  int blocks;
  std::int64_t channels;  // each makes
  int stride;
  int expansion = 1;  // V2: how many times as many channels are filtered as come in
};

constexpr std::array<Stage, 5> v1_stages{{{1, 64, 1}, {2, 128, 2}, {2, 256, 2}, {6, 512, 2}, {2, 1024, 2}}};
constexpr std::array<Stage, 7> v2_stages{
    {{1, 16, 1, 1}, {2, 24, 2, 6}, {3, 32, 2, 6}, {4, 64, 2, 6}, {3, 96, 1, 6}, {3, 160, 2, 6}, {1, 320, 1, 6}}};
constexpr std::int64_t stem_channels = 32, v2_features = 1280;

class MobileNetBuilder final : public VisionBlocks {
 public:
  MobileNetBuilder(const MobileNetSpec& spec, Mode mode) : VisionBlocks(mode, spec.dropout), spec_(spec) {}

  BuiltModel build(std::int64_t batch) {
    const ValueId images = inputs(batch, spec_.image_size, spec_.pixels);
    const ConvSpec stem{stem_channels, 3, spec_.stem == Stem::small ? 1 : 2};
    const bool v1 = spec_.version == MobileNetVersion::v1;
    const ValueId features = v1 ? separable_blocks(conv_norm_relu6("conv_stem", "bn1", images, stem))
                                : inverted_residuals(conv_norm_relu6("features.0.0", "features.0.1", images, stem));
    add_loss(pooled_classifier("pool", v1 ? "classifier" : "classifier.1", features, spec_.classes),
             spec_.label_smoothing);
    return take();
  }

 private:
  ValueId conv_norm_relu6(const std::string& conv, const std::string& norm, ValueId x, const ConvSpec& spec) {
    return activate(Activation::relu6, norm + ".relu6", conv_norm(conv, norm, x, spec));
  }
  /// One 3x3 filter to each channel.
  ConvSpec depthwise(ValueId x, int stride) const { return {channels(x), 3, stride, static_cast<int>(channels(x))}; }

  ValueId separable_blocks(ValueId x) {
    for (std::size_t stage = 0; stage < v1_stages.size(); ++stage) {
      for (int block = 0; block < v1_stages[stage].blocks; ++block) {
        const std::string name = fmt::format("blocks.{}.{}", stage, block);
        const int stride = block == 0 ? v1_stages[stage].stride : 1;
        x = conv_norm_relu6(name + ".conv_dw", name + ".bn1", x, depthwise(x, stride));
        x = conv_norm_relu6(name + ".conv_pw", name + ".bn2", x, {v1_stages[stage].channels, 1});
      }
    }
    return x;
  }

  ValueId inverted_residuals(ValueId x) {
    int index = 0;
    for (const Stage& stage : v2_stages) {
      for (int block = 0; block < stage.blocks; ++block) {
        x = inverted_residual(fmt::format("features.{}.conv", ++index), x, stage, block == 0 ? stage.stride : 1);
      }
    }
    const std::string last = fmt::format("features.{}", index + 1);
    return conv_norm_relu6(last + ".0", last + ".1", x, {v2_features, 1});
  }

  ValueId inverted_residual(const std::string& name, ValueId x, const Stage& stage, int stride) {
    ValueId y = x;
    int part = 0;
    const auto next = [&] { return fmt::format("{}.{}", name, part++); };
    const auto filtered = [&](const ConvSpec& spec) {
      const std::string pair = next();
      y = conv_norm_relu6(pair + ".0", pair + ".1", y, spec);
    };
    if (stage.expansion > 1) filtered({channels(x) * stage.expansion, 1});
    filtered(depthwise(y, stride));
    const std::string conv = next();
    y = conv_norm(conv, next(), y, {stage.channels, 1});
    return stride == 1 && channels(x) == stage.channels ? sum(name + ".add", x, y) : y;
  }

  const MobileNetSpec& spec_;
};

class MobileNet final : public Model {
 public:
  explicit MobileNet(const MobileNetSpec& spec) : spec_(spec) {}

  std::string name() const override { return spec_.version == MobileNetVersion::v1 ? "mobilenet_v1" : "mobilenet_v2"; }
  std::string signature() const override {
    return fmt::format("{} classes={} stem={}", name(), spec_.classes, choice_name(spec_.stem));
  }
  BuiltModel construct(const BatchShape& batch, Mode mode) const override {
    return MobileNetBuilder(spec_, mode).build(batch.rows);
  }
  bool is_text() const override { return false; }

 private:
  MobileNetSpec spec_;
};

}  // namespace

MobileNetSpec mobilenet_spec(MobileNetVersion version, const Config& config, const DatasetInfo& data) {
  MobileNetSpec spec;
  spec.version = version;
  spec.classes = config.model.classes;
  spec.image_size = data.image_size;
  spec.stem = stem_for(config.model.stem, data.image_size);
  spec.label_smoothing = static_cast<float>(config.train.label_smoothing);
  if (version == MobileNetVersion::v2) spec.dropout = static_cast<float>(config.model.dropout);
  spec.pixels = {data.mean, data.stddev};
  return spec;
}

std::unique_ptr<Model> make_mobilenet(const MobileNetSpec& spec) { return std::make_unique<MobileNet>(spec); }

}  // namespace ptrain

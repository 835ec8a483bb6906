#include "models/vision/mobilenet.h"

#include "core/ops/image/global_average_pool.h"
#include "models/vision/vision_blocks.h"

namespace ptrain {
namespace {

/// A stage of equal blocks; the first has the stride.
struct Stage {
  int blocks;
  std::int64_t channels;  // output channels
  int stride;
  int expansion = 1;  // V2: ratio of filtered to input channels
};

constexpr std::array<Stage, 5> v1_stages{{{1, 64, 1}, {2, 128, 2}, {2, 256, 2}, {6, 512, 2}, {2, 1024, 2}}};
constexpr std::array<Stage, 7> v2_stages{
    {{1, 16, 1, 1}, {2, 24, 2, 6}, {3, 32, 2, 6}, {4, 64, 2, 6}, {3, 96, 1, 6}, {3, 160, 2, 6}, {1, 320, 1, 6}}};

/// A bottleneck of V3.
struct Bottleneck {
  int kernel;
  std::int64_t expanded, channels;  // filtered channels; output channels
  bool squeezed;
  Activation activation;
  int stride;
};

constexpr Activation re = Activation::relu, hs = Activation::hard_swish;
constexpr std::array<Bottleneck, 15> v3_large_bottlenecks{{{3, 16, 16, false, re, 1},
                                                           {3, 64, 24, false, re, 2},
                                                           {3, 72, 24, false, re, 1},
                                                           {5, 72, 40, true, re, 2},
                                                           {5, 120, 40, true, re, 1},
                                                           {5, 120, 40, true, re, 1},
                                                           {3, 240, 80, false, hs, 2},
                                                           {3, 200, 80, false, hs, 1},
                                                           {3, 184, 80, false, hs, 1},
                                                           {3, 184, 80, false, hs, 1},
                                                           {3, 480, 112, true, hs, 1},
                                                           {3, 672, 112, true, hs, 1},
                                                           {5, 672, 160, true, hs, 2},
                                                           {5, 960, 160, true, hs, 1},
                                                           {5, 960, 160, true, hs, 1}}};
constexpr std::int64_t v2_features = 1280, v3_features = 960, v3_hidden = 1280;

enum class MobileNetVersion { v1, v2, v3_large };

template <MobileNetVersion version>
class MobileNetBuilder final : public VisionBlocks {
 public:
  using VisionBlocks::VisionBlocks;

  BuiltModel build(const Bucket& batch) { return finish(logits(inputs(batch))); }

 private:
  ValueId logits(ValueId images) {
    if constexpr (version == MobileNetVersion::v1) {
      const ValueId stem = conv_norm_relu6("conv_stem", "bn1", images, {32, 3, first_stride()});
      return pooled_classifier("pool", "classifier", separable_blocks(stem));
    } else if constexpr (version == MobileNetVersion::v2) {
      const ValueId stem = conv_norm_relu6("features.0.0", "features.0.1", images, {32, 3, first_stride()});
      return pooled_classifier("pool", "classifier.1", inverted_residuals(stem));
    } else {
      norm_epsilon_ = 1e-3f, norm_momentum_ = 0.01f;
      return v3_classifier(bottlenecks(conv_norm_act("features.0", images, {16, 3, first_stride()}, hs)));
    }
  }

  ValueId conv_norm_relu6(const std::string& conv, const std::string& norm, ValueId x, const ConvSpec& spec) {
    return activate(Activation::relu6, norm + ".relu6", conv_norm(conv, norm, x, spec));
  }

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

  ValueId bottlenecks(ValueId x) {
    int index = 0;
    for (const Bottleneck& spec : v3_large_bottlenecks) {
      x = bottleneck(fmt::format("features.{}.block", ++index), x, spec);
    }
    return conv_norm_act(fmt::format("features.{}", index + 1), x, {v3_features, 1}, hs);
  }

  ValueId bottleneck(const std::string& name, ValueId x, const Bottleneck& spec) {
    ValueId y = x;
    int part = 0;
    const auto next = [&] { return fmt::format("{}.{}", name, part++); };
    if (spec.expanded != channels(x)) y = conv_norm_act(next(), y, {spec.expanded, 1}, spec.activation);
    y = conv_norm_act(next(), y, depthwise(y, spec.stride, spec.kernel), spec.activation);
    if (spec.squeezed) {
      const std::int64_t squeezed = multiple_of_eight(static_cast<double>(spec.expanded) / 4);
      y = squeeze_excite(next(), y, {squeezed, Activation::relu, Activation::hard_sigmoid});
    }
    const std::string last = next();
    y = conv_norm(last + ".0", last + ".1", y, {spec.channels, 1});
    return spec.stride == 1 && channels(x) == spec.channels ? sum(name + ".add", x, y) : y;
  }

  ValueId v3_classifier(ValueId x) {
    const Initializer start = normal_start(0.01f), zero = constant_start(0);
    x = add("pool", std::make_shared<GlobalAveragePool>(), {x});
    x = linear("classifier.0", x, of_head(make_variable("classifier.0.weight", Shape{v3_hidden, channels(x)}, start)),
               of_head(make_variable("classifier.0.bias", Shape{v3_hidden}, zero)));
    x = dropout("classifier.2", activate(hs, "classifier.1", x));
    return class_scores("classifier.3", x, start);
  }
};

template <MobileNetVersion version>
std::unique_ptr<Model> make_mobilenet(const char* name, const ImageSpec& spec) {
  return std::make_unique<ImageModel<MobileNetBuilder<version>>>(name, spec, stem_detail(spec.stem));
}

}  // namespace

std::unique_ptr<Model> make_mobilenet_v1(const ImageSpec& spec) {
  return make_mobilenet<MobileNetVersion::v1>("mobilenet_v1", spec);
}
std::unique_ptr<Model> make_mobilenet_v2(const ImageSpec& spec) {
  return make_mobilenet<MobileNetVersion::v2>("mobilenet_v2", spec);
}
std::unique_ptr<Model> make_mobilenet_v3_large(const ImageSpec& spec) {
  return make_mobilenet<MobileNetVersion::v3_large>("mobilenet_v3_large", spec);
}

}  // namespace ptrain

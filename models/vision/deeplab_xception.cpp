#include "models/vision/deeplab_xception.h"

#include "core/base/errors.h"
#include "core/ops/concat.h"
#include "core/ops/image/global_average_pool.h"
#include "core/ops/image/resize_bilinear.h"
#include "core/ops/normalization/group_norm.h"
#include "core/ops/tensor/reshape.h"
#include "models/vision/vision_blocks.h"

#include <array>

namespace ptrain {
namespace {

constexpr std::int64_t feature_channels = 256;

/// Where a separable convolution has ReLUs: before its depthwise convolution, or after each of its norms.
enum class ReluPlace { first, inside };

struct SeparableSpec {
  std::int64_t channels;
  int stride = 1;
  int dilation = 1;
  ReluPlace relu = ReluPlace::first;
};

class DeepLabXceptionBuilder final : public VisionBlocks {
 public:
  DeepLabXceptionBuilder(const DeepLabXceptionSpec& spec, Mode mode) : VisionBlocks(spec, mode), spec_(spec) {
    in_trunk(true);
  }

  BuiltModel build(const Bucket& batch) {
    if (spec_.norm == XceptionNorm::batch && training() && batch.rows < 2) {
      fail_usage(
          "data.batch_size: expected at least 2 for DeepLab with batch norms, which normalise the means of a batch's "
          "images; deeplabv3p_xception65_gn takes one");
    }
    const ImageSize size = image_size(batch);
    ValueId x = stem(inputs(batch));
    ValueId low = no_value;
    x = block("entry_flow.block1", x, {{{128}, {128}, {128, 2}}}, Shortcut::projection);
    x = block("entry_flow.block2", x, {{{256}, {256}, {256, 2}}}, Shortcut::projection, &low);
    x = block("entry_flow.block3", x, {{{728}, {728}, {728, 2}}}, Shortcut::projection);
    for (int i = 1; i <= 16; ++i) {
      x = block(fmt::format("middle_flow.block{}", i), x, {{{728}, {728}, {728}}}, Shortcut::identity);
    }
    x = block("exit_flow.block1", x, {{{728}, {1024}, {1024}}}, Shortcut::projection);
    constexpr int dilation = 2;
    x = block("exit_flow.block2", x,
              {{{1536, 1, dilation, ReluPlace::inside},
                {1536, 1, dilation, ReluPlace::inside},
                {2048, 1, dilation, ReluPlace::inside}}},
              Shortcut::none);
    in_trunk(false);
    x = decoder(low, pyramid(x));
    x = convolution("logit", x, {.channels = spec_.classes, .kernel = 1, .bias = ConvBias::zero, .deviation = 0.01f});
    BuiltModel built = finish(resized("logits", x, size));
    for (ModelVariable& variable : built.variables) {
      if (variable.name.starts_with("backbone.")) continue;
      const bool is_final = variable.name.starts_with("logit.");
      variable.files.front().part = is_final ? WeightMapping::Part::classifier : WeightMapping::Part::head;
    }
    return built;
  }

 private:
  enum class Shortcut { none, identity, projection };

  /// The initial deviation of filters, and the norms' constants: those of the trunk or those of what follows it.
  void in_trunk(bool is_trunk) {
    prefix_ = is_trunk ? "backbone." : "";
    deviation_ = is_trunk ? 0.09f : 0.06f;
    norm_epsilon_ = is_trunk ? 1e-3f : 1e-5f;
    norm_momentum_ = 3e-4f;  // of the new statistics: Fluid's 0.9997 is of the old ones
  }

  ValueId resized(const std::string& name, ValueId x, ImageSize size) {
    const ResizeBilinearAttributes attributes{size.height, size.width, Corners::aligned};
    return add(name, std::make_shared<ResizeBilinear>(attributes), {x});
  }

  /// A convolution without bias, a norm and, if wanted, a ReLU.
  ValueId conv(const std::string& name, ValueId x, ConvSpec spec, Activation activation = Activation::relu) {
    if (!spec.deviation) spec.deviation = deviation_;
    const std::string full = prefix_ + name;
    x = convolution(full, x, spec);
    x = spec_.norm == XceptionNorm::group ? group_norm(full + ".norm", x)
                                          : batch_norm(full + ".norm", x, NormStart::one);
    return activation == Activation::none ? x : activate(activation, full + ".activation", x);
  }

  ValueId group_norm(const std::string& name, ValueId x) {
    int groups = 32;  // or the next number below that divides the channels: 28 of 728, 24 of 48
    while (channels(x) % groups != 0) --groups;
    const Shape width{channels(x)};
    const ValueId scale = parameter(make_variable(name + ".weight", width, constant_start(1)));
    const ValueId offset = parameter(make_variable(name + ".bias", width, constant_start(0)));
    const GroupNormAttributes attributes{groups, norm_epsilon_};
    return add(name, std::make_shared<GroupNorm>(attributes), {x, scale, offset});
  }

  ValueId separable(const std::string& name, ValueId x, const SeparableSpec& spec) {
    constexpr float depthwise_deviation = 0.33f;
    const bool first = spec.relu == ReluPlace::first;
    if (first) x = relu(prefix_ + name + ".relu", x);
    const Activation inner = first ? Activation::none : Activation::relu;
    ConvSpec filter = depthwise(x, spec.stride);
    filter.dilation = spec.dilation;
    filter.deviation = depthwise_deviation;
    x = conv(name + ".depthwise", x, filter, inner);
    return conv(name + ".pointwise", x, {spec.channels, 1}, inner);
  }

  ValueId stem(ValueId images) {
    return conv("entry_flow.conv2", conv("entry_flow.conv1", images, {32, 3, 2}), {64, 3});
  }

  /// Three separable convolutions; `second`, if given, receives the second one's result.
  ValueId block(const std::string& name, ValueId x, const std::array<SeparableSpec, 3>& layers, Shortcut shortcut,
                ValueId* second = nullptr) {
    ValueId y = x;
    for (std::size_t i = 0; i < layers.size(); ++i) {
      y = separable(fmt::format("{}.separable_conv{}", name, i + 1), y, layers[i]);
      if (i == 1 && second != nullptr) *second = y;
    }
    if (shortcut == Shortcut::none) return y;
    if (shortcut == Shortcut::projection) {
      x = conv(name + ".shortcut", x, {layers.back().channels, 1, layers.back().stride}, Activation::none);
    }
    return sum(prefix_ + name + ".add", y, x);
  }

  /// Atrous spatial pyramid pooling with separable convolutions.
  ValueId pyramid(ValueId x) {
    const Shape shape = graph_.desc(x).shape;
    ValueId mean = add("encoder.mean", std::make_shared<GlobalAveragePool>(), {x});
    mean = add("encoder.pixel", std::make_shared<Reshape>(Shape{shape[0], 1, 1, shape[3]}), {mean});
    mean = conv("encoder.image_pool", mean, {feature_channels, 1});
    mean =
        add("encoder.expand", std::make_shared<Expand>(Shape{shape[0], shape[1], shape[2], feature_channels}), {mean});
    std::vector<ValueId> all{mean, conv("encoder.aspp0", x, {feature_channels, 1})};
    for (int i = 1; i <= 3; ++i) {
      all.push_back(separable(fmt::format("encoder.aspp{}", i), x, {feature_channels, 1, 6 * i, ReluPlace::inside}));
    }
    x = add("encoder.concat", std::make_shared<Concat>(-1), std::move(all));
    return dropout("encoder.dropout", conv("encoder.project", x, {feature_channels, 1}));
  }

  ValueId decoder(ValueId low, ValueId high) {
    constexpr std::int64_t low_channels = 48;
    const Shape shape = graph_.desc(low).shape;
    low = conv("decoder.low_level", low, {low_channels, 1});
    high = resized("decoder.resize", high, {shape[1], shape[2]});
    ValueId x = add("decoder.concat", std::make_shared<Concat>(-1), {low, high});
    x = separable("decoder.separable_conv1", x, {feature_channels, 1, 1, ReluPlace::inside});
    return separable("decoder.separable_conv2", x, {feature_channels, 1, 1, ReluPlace::inside});
  }

  const DeepLabXceptionSpec& spec_;
  std::string prefix_;   // of names
  float deviation_ = 0;  // of initial filters
};

}  // namespace

DeepLabXceptionSpec deeplab_xception_spec(XceptionNorm norm, const Config& config, const DatasetInfo& data) {
  DeepLabXceptionSpec spec{image_spec(config, data), norm};
  spec.stem = Stem::imagenet;
  return spec;
}

std::unique_ptr<Model> make_deeplab_xception(const DeepLabXceptionSpec& spec) {
  const char* const name = spec.norm == XceptionNorm::group ? "deeplabv3p_xception65_gn" : "deeplabv3p_xception65";
  return std::make_unique<ImageModel<DeepLabXceptionBuilder, DeepLabXceptionSpec>>(name, spec);
}

}  // namespace ptrain

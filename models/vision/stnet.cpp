#include "models/vision/stnet.h"

#include "core/ops/image/global_average_pool.h"
#include "core/ops/tensor/reduce.h"
#include "core/ops/tensor/reshape.h"
#include "core/ops/tensor/slice.h"
#include "models/vision/resnet_body.h"

#include <cmath>

namespace ptrain {
namespace {

constexpr std::int64_t xception_channels = 1024;

class StnetBuilder final : public ResNetBody {
 public:
  StnetBuilder(const StnetSpec& spec, Mode mode) : ResNetBody(spec, mode), spec_(spec) {}

  BuiltModel build(const Bucket& batch) {
    ValueId x = stem(inputs(batch, spec_.segments * spec_.frames_per_segment, spec_.frames_per_segment));
    for (std::size_t number = 1; number <= 4; ++number) {
      x = stage({}, number, x, {.stride = number > 1 ? 2 : 1});
      if (number == 2 || number == 3) x = temporal_block(fmt::format("temporal{}", number), x);
    }
    x = add("avgpool", std::make_shared<GlobalAveragePool>(), {x});
    const float bound = 1.0f / std::sqrt(static_cast<float>(channels(x)));
    x = xception("xception", by_segment("avgpool.clips", x));
    x = add("maxpool_segments", std::make_shared<Reduce>(ReduceAttributes{ReduceKind::max, {1, 2}}), {x});
    BuiltModel built = finish(classifier("fc", x, spec_.classes, uniform_start(bound), constant_start(0)));
    for (ModelVariable& variable : built.variables) {
      if (is_temporal(variable.name)) variable = of_head(std::move(variable));
    }
    return built;
  }

 private:
  /// Whether weights of networks over images lack the variable.
  static bool is_temporal(std::string_view name) {
    return name.starts_with("temporal") || name.starts_with("xception");
  }

  /// Images [clips * segments, ..., C] to [clips, segments, pixels, C].
  ValueId by_segment(const std::string& name, ValueId x) {
    const Shape shape = graph_.desc(x).shape;
    const std::int64_t images = shape[0], pixels = shape.count() / (images * shape[-1]);
    return add(name, std::make_shared<Reshape>(Shape{images / spec_.segments, spec_.segments, pixels, shape[-1]}), {x});
  }

  /// Filters start by He et al. 2015 with fan-in, as in PaddlePaddle/models, and biases at 0.
  ValueId convolve(const std::string& name, ValueId x, ConvSpec spec) {
    spec.bias = ConvBias::zero;
    spec.width = 1;
    const std::int64_t fan_in = channels(x) / spec.groups * spec.kernel;
    spec.deviation = std::sqrt(2.0f / static_cast<float>(fan_in));
    spec.padding = 0;
    return convolution(name, spec.kernel > 1 ? pad_segments(name + ".pad", x, spec.kernel / 2) : x, spec);
  }

  /// A convolution's own padding would be on all sides.
  ValueId pad_segments(const std::string& name, ValueId x, std::int64_t border) {
    const SliceAttributes inside{1, border, border + spec_.segments};
    return add(name, std::make_shared<SliceGrad>(inside, spec_.segments + 2 * border), {x});
  }

  /// x + norm(relu(convolution over the segments of each pixel)).
  ValueId temporal_block(const std::string& name, ValueId x) {
    const Shape shape = graph_.desc(x).shape;
    const ValueId clips = by_segment(name + ".clips", x);
    const ValueId y = relu(name + ".relu", convolve(name + ".conv", clips, {.channels = shape[-1], .kernel = 3}));
    const ValueId mixed = sum(name + ".add", batch_norm(name + ".bn", y, NormStart::one), clips);
    return add(name, std::make_shared<Reshape>(shape), {mixed});
  }

  /// Of features [clips, segments, 1, C]; depthwise convolutions are over the segments.
  ValueId xception(const std::string& name, ValueId x) {
    x = batch_norm(name + ".bn1", x, NormStart::one);
    const ConvSpec narrow{.channels = xception_channels, .kernel = 1};
    ValueId y = convolve(name + ".depthwise1", x, depthwise(x, 1));
    y = convolve(name + ".pointwise1", y, narrow);
    y = relu(name + ".relu", batch_norm(name + ".bn2", y, NormStart::one));
    y = convolve(name + ".depthwise2", y, depthwise(y, 1));
    y = convolve(name + ".pointwise2", y, narrow);
    y = sum(name + ".add", convolve(name + ".shortcut", x, narrow), y);
    return relu(name, batch_norm(name + ".bn3", y, NormStart::one));
  }

  const StnetSpec& spec_;
};

class Stnet final : public ImageModel<StnetBuilder, StnetSpec> {
 public:
  explicit Stnet(const StnetSpec& spec)
      : ImageModel("stnet_resnet50", spec,
                   fmt::format("{} frames_per_segment={}", stem_detail(spec.stem), spec.frames_per_segment)) {}
  std::string sample() const override { return "clip"; }
};

}  // namespace

StnetSpec stnet_spec(const Config& config, const DatasetInfo& data) {
  return {resnet_spec(config, data), config.model.frames_per_segment};
}

std::unique_ptr<Model> make_stnet(const StnetSpec& spec) { return std::make_unique<Stnet>(spec); }

}  // namespace ptrain

// ResNet as a graph builder; variables bear torchvision's names.
#include "models/resnet.h"

#include "core/base/errors.h"
#include "core/ops/activation.h"
#include "core/ops/batch_norm.h"
#include "core/ops/conv2d.h"
#include "core/ops/elementwise.h"
#include "core/ops/global_average_pool.h"
#include "core/ops/linear.h"
#include "core/ops/max_pool2d.h"
#include "core/ops/normalize_image.h"
#include "core/ops/softmax_cross_entropy.h"

#include <cmath>

namespace ptrain {
namespace {

constexpr int padded_channels = 4;  // images carry a zero fourth channel: faster first convolutions

struct Stages {
  std::array<int, 4> blocks;
  bool bottleneck;
};

Stages stages_of(int depth) {
  switch (depth) {
    case 18:
      return {{2, 2, 2, 2}, false};
    case 34:
      return {{3, 4, 6, 3}, false};
    case 50:
      return {{3, 4, 6, 3}, true};
    case 101:
      return {{3, 4, 23, 3}, true};
    case 152:
      return {{3, 8, 36, 3}, true};
    default:
      fail_usage("model.name: resnet{} does not exist: expected resnet18, 34, 50, 101 or 152", depth);
  }
}

struct ConvSpec {
  std::int64_t channels;
  int kernel;
  int stride;
};

class ResNetBuilder {
 public:
  ResNetBuilder(const ResNetSpec& spec, std::int64_t batch, Mode mode) : spec_(spec), batch_(batch), mode_(mode) {}

  Graph build() {
    const ValueId images =
        graph_.add_input(model_io::images, {DType::u8, Shape{batch_, spec_.image_size, spec_.image_size, 3}});
    const ValueId labels = graph_.add_input(model_io::labels, {DType::i32, Shape{batch_}});
    ValueId x = stem(images);
    const Stages stages = stages_of(spec_.depth);
    for (std::size_t stage = 0; stage < 4; ++stage) {
      for (int block = 0; block < stages.blocks[stage]; ++block) {
        const std::string name = fmt::format("layer{}.{}", stage + 1, block);
        const std::int64_t width = 64 << stage;
        const int stride = stage > 0 && block == 0 ? 2 : 1;
        x = stages.bottleneck ? bottleneck(name, x, width, stride) : basic_block(name, x, width, stride);
      }
    }
    x = graph_.add("avgpool", std::make_shared<GlobalAveragePool>(), {x});
    const std::int64_t features = graph_.desc(x).shape[-1];
    const ValueId weight = graph_.add_parameter("fc.weight", Shape{spec_.classes, features});
    const ValueId bias = graph_.add_parameter("fc.bias", Shape{spec_.classes});
    const ValueId logits = graph_.add("fc", std::make_shared<Linear>(), {x, weight, bias});
    const float smoothing = mode_ == Mode::training ? spec_.label_smoothing : 0.0f;
    const ValueId loss = graph_.add("loss", std::make_shared<SoftmaxCrossEntropy>(smoothing), {logits, labels});
    graph_.set_output(model_io::loss, loss);
    graph_.set_output(model_io::logits, logits);
    return std::move(graph_);
  }

 private:
  ValueId stem(ValueId images) {
    NormalizeImage::Attributes normalize;
    normalize.mean = spec_.mean;
    normalize.deviation = spec_.deviation;
    normalize.channels = padded_channels;
    ValueId x = graph_.add("normalize", std::make_shared<NormalizeImage>(normalize), {images});
    if (spec_.stem == ResNetStem::small) return conv_norm_relu("conv1", "bn1", x, {64, 3, 1});
    x = conv_norm_relu("conv1", "bn1", x, {64, 7, 2});
    return graph_.add("maxpool", std::make_shared<MaxPool2d>(MaxPool2d::Attributes{3, 2, 1}), {x});
  }

  ValueId bottleneck(const std::string& name, ValueId x, std::int64_t width, int stride) {
    ValueId y = conv_norm_relu(name + ".conv1", name + ".bn1", x, {width, 1, 1});
    y = conv_norm_relu(name + ".conv2", name + ".bn2", y, {width, 3, stride});
    y = conv_norm(name + ".conv3", name + ".bn3", y, {4 * width, 1, 1});
    return add_relu(name, y, shortcut(name, x, 4 * width, stride));
  }

  ValueId basic_block(const std::string& name, ValueId x, std::int64_t width, int stride) {
    ValueId y = conv_norm_relu(name + ".conv1", name + ".bn1", x, {width, 3, stride});
    y = conv_norm(name + ".conv2", name + ".bn2", y, {width, 3, 1});
    return add_relu(name, y, shortcut(name, x, width, stride));
  }

  /// The identity, or a projection where the shape changes.
  ValueId shortcut(const std::string& name, ValueId x, std::int64_t channels, int stride) {
    if (stride == 1 && graph_.desc(x).shape[-1] == channels) return x;
    return conv_norm(name + ".downsample.0", name + ".downsample.1", x, {channels, 1, stride});
  }

  ValueId add_relu(const std::string& name, ValueId y, ValueId shortcut) {
    const ValueId sum = graph_.add(name + ".add", std::make_shared<Add>(), {y, shortcut});
    return relu(name + ".relu", sum);
  }

  ValueId conv_norm_relu(const std::string& conv, const std::string& norm, ValueId x, ConvSpec spec) {
    return relu(norm + ".relu", conv_norm(conv, norm, x, spec));
  }

  ValueId relu(const std::string& name, ValueId x) {
    return graph_.add(name, std::make_shared<ActivationOp>(Activation::relu), {x});
  }

  ValueId conv_norm(const std::string& conv, const std::string& norm, ValueId x, ConvSpec spec) {
    const ValueId weight = graph_.add_parameter(
        conv + ".weight", Shape{spec.channels, spec.kernel, spec.kernel, graph_.desc(x).shape[-1]});
    Conv2dAttributes attrs;
    attrs.stride = spec.stride;
    attrs.padding = spec.kernel / 2;
    const ValueId y = graph_.add(conv, std::make_shared<Conv2d>(attrs), {x, weight});
    const Shape channels{spec.channels};
    BatchNorm::Attributes norm_attrs;
    norm_attrs.training = mode_ == Mode::training;
    return graph_.add(
        norm, std::make_shared<BatchNorm>(norm_attrs),
        {y, graph_.add_parameter(norm + ".weight", channels), graph_.add_parameter(norm + ".bias", channels),
         graph_.add_state(norm + ".running_mean", {DType::f32, channels}),
         graph_.add_state(norm + ".running_var", {DType::f32, channels})});
  }

  const ResNetSpec& spec_;
  std::int64_t batch_;
  Mode mode_;
  Graph graph_;
};

class ResNet final : public Model {
 public:
  explicit ResNet(const ResNetSpec& spec) : spec_(spec) { stages_of(spec.depth); }

  std::string name() const override { return fmt::format("resnet{}", spec_.depth); }
  std::string signature() const override {
    return fmt::format("resnet{} classes={} stem={}", spec_.depth, spec_.classes,
                       spec_.stem == ResNetStem::small ? "small" : "imagenet");
  }
  Graph build(const BatchShape& batch, Mode mode) const override {
    return ResNetBuilder(spec_, batch.rows, mode).build();
  }
  bool is_text() const override { return false; }

  std::vector<WeightMapping> weights() const override {
    std::vector<WeightMapping> mappings;
    const Graph graph = build(1, Mode::evaluation);
    for (const Value& value : graph.values()) {
      if (value.storage != Storage::parameter && value.storage != Storage::state) continue;
      WeightMapping mapping{value.name, value.name, value.desc.shape};
      if (value.desc.shape.rank() == 4) {
        const Shape& s = value.desc.shape;
        const std::int64_t channels = value.name == "conv1.weight" ? 3 : s[3];
        mapping.layout = WeightMapping::Layout::conv_krsc;
        mapping.external_shape = Shape{s[0], channels, s[1], s[2]};
      }
      mapping.head = value.name.starts_with("fc.");
      mappings.push_back(std::move(mapping));
    }
    return mappings;
  }

  /// He initialisation (fan out) for convolutions, as torchvision; the classifier as PyTorch's linear layer.
  Initializer initializer(const Value& variable) const override {
    const std::string& name = variable.name;
    const Shape& shape = variable.desc.shape;
    if (shape.rank() == 4) {
      Initializer init{Initializer::Kind::normal, std::sqrt(2.0f / static_cast<float>(shape[0] * shape[1] * shape[2]))};
      if (name == "conv1.weight") init.zero_from = 3;
      return init;
    }
    if (name.starts_with("fc.")) {
      const std::int64_t features = stages_of(spec_.depth).bottleneck ? 2048 : 512;
      return {Initializer::Kind::uniform, 1.0f / std::sqrt(static_cast<float>(features))};
    }
    const std::string_view last_norm = stages_of(spec_.depth).bottleneck ? ".bn3.weight" : ".bn2.weight";
    if (spec_.zero_init_residual && name.ends_with(last_norm)) return {};
    const bool one = name.ends_with(".weight") || name.ends_with(".running_var");
    return {Initializer::Kind::constant, one ? 1.0f : 0.0f};
  }

 private:
  ResNetSpec spec_;
};

}  // namespace

std::unique_ptr<Model> make_resnet(const ResNetSpec& spec) { return std::make_unique<ResNet>(spec); }

}  // namespace ptrain

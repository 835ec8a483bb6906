#include "models/vision/retinanet.h"

#include "core/base/errors.h"
#include "core/data/tensor_names.h"
#include "core/ops/concat.h"
#include "core/ops/math/boxes.h"
#include "core/ops/tensor/binary.h"
#include "core/ops/tensor/reshape.h"
#include "models/vision/resnet_body.h"

#include <cmath>

namespace ptrain {
namespace {

constexpr const char* body_prefix = "backbone.body.";
constexpr const char* fpn_prefix = "backbone.fpn.";
constexpr const char* class_scores_prefix = "head.classification_head.cls_logits.";

class RetinaNetBuilder final : public ResNetBody {
 public:
  RetinaNetBuilder(const RetinaNetSpec& spec, Mode mode)
      : ResNetBody(spec, mode, body_prefix, spec.frozen_norms ? Norms::frozen : Norms::batch), spec_(spec) {}

  BuiltModel build(const Bucket& batch) {
    constexpr int coarsest = 32;  // px, the stride of the ResNet's last feature map
    const ImageSize size = image_size(batch);
    if (size.height % coarsest != 0 || size.width % coarsest != 0) {
      fail_usage("data.image_size: {} needs multiples of {} px, got {}", spec_.name, coarsest, size);
    }
    const std::vector<ValueId> levels = pyramid(body(inputs(batch)));
    constexpr float rare = 0.01f;  // share of anchors with an object of a class, at first
    const ValueId logits =
        head("head.classification_head", "cls_logits", levels, spec_.classes, -std::log((1 - rare) / rare));
    const ValueId deltas = head("head.regression_head", "bbox_reg", levels, 4, 0);
    graph_.set_output(tensor_names::box_deltas, deltas);
    BuiltModel built = finish(tensor_names::class_logits, logits);
    for (ModelVariable& variable : built.variables) name_parts(variable);
    return built;
  }

 private:
  /// Uniform as by torch.nn.init.kaiming_uniform_ with a = 1.
  static Initializer pyramid_start(std::int64_t inputs, int kernel) {
    return uniform_start(std::sqrt(3.0f / static_cast<float>(inputs * kernel * kernel)));
  }

  SharedConvolution pyramid_layer(const std::string& name, std::int64_t inputs, int kernel, int stride = 1) {
    return shared_convolution(fpn_prefix + name, inputs, {spec_.width, kernel, stride}, pyramid_start(inputs, kernel));
  }

  /// Levels of strides 8 to 128.
  std::vector<ValueId> pyramid(const std::array<ValueId, 4>& maps) {
    std::vector<ValueId> inner, levels(3);
    for (std::size_t i = 0; i < levels.size(); ++i) {
      const std::string name = fmt::format("inner_blocks.{}.0", i);
      inner.push_back(apply(fpn_prefix + name, pyramid_layer(name, channels(maps[i + 1]), 1), maps[i + 1]));
    }
    for (std::size_t i = levels.size() - 1; i-- > 0;)
      inner[i] = add_upsampled(fmt::format("top_down.{}", i), inner[i], inner[i + 1]);
    for (std::size_t i = 0; i < levels.size(); ++i) {
      const std::string name = fmt::format("layer_blocks.{}.0", i);
      levels[i] = apply(fpn_prefix + name, pyramid_layer(name, spec_.width, 3), inner[i]);
    }
    const std::string p6 = "extra_blocks.p6", p7 = "extra_blocks.p7";
    levels.push_back(apply(fpn_prefix + p6, pyramid_layer(p6, spec_.width, 3, 2), levels.back()));
    const ValueId positive = relu(fpn_prefix + p6 + ".relu", levels.back());
    levels.push_back(apply(fpn_prefix + p7, pyramid_layer(p7, spec_.width, 3, 2), positive));
    return levels;
  }

  /// x plus the nearest upsampling of `coarse`, which has half its height and width.
  ValueId add_upsampled(const std::string& name, ValueId x, ValueId coarse) {
    const Shape shape = graph_.desc(x).shape, half = graph_.desc(coarse).shape;
    const auto reshaped = [&](const char* part, ValueId value, const Shape& to) {
      return add(fpn_prefix + name + part, std::make_shared<Reshape>(to), {value});
    };
    const ValueId fine = reshaped(".fine", x, {shape[0], half[1], 2, half[2], 2, shape[3]});
    const ValueId repeated = reshaped(".coarse", coarse, {shape[0], half[1], 1, half[2], 1, shape[3]});
    const ValueId sum = add(fpn_prefix + name, std::make_shared<Binary>(BinaryFunction::add), {fine, repeated});
    return reshaped(".sum", sum, shape);
  }

  /// [N, A, outputs] of all levels' anchors.
  ValueId head(const std::string& name, const std::string& last, const std::vector<ValueId>& levels,
               std::int64_t outputs, float last_bias) {
    const Initializer start = normal_start(0.01f);
    std::vector<SharedConvolution> layers;
    for (int i = 0; i < spec_.head_convolutions; ++i) {
      layers.push_back(shared_convolution(fmt::format("{}.conv.{}.0", name, i), spec_.width, {spec_.width, 3}, start));
    }
    constexpr std::int64_t per_location = 9;  // anchors
    layers.push_back(shared_convolution(name + "." + last, spec_.width, {per_location * outputs, 3}, start, last_bias));
    std::vector<ValueId> parts;
    for (std::size_t level = 0; level < levels.size(); ++level) {
      ValueId x = levels[level];
      for (std::size_t i = 0; i < layers.size(); ++i) {
        const std::string layer = fmt::format("{}.{}.p{}", name, i, level + 3);
        x = apply(layer, layers[i], x);
        if (i + 1 < layers.size()) x = relu(layer + ".relu", x);
      }
      const Shape shape = graph_.desc(x).shape;
      const Shape flat{shape[0], shape[1] * shape[2] * per_location, outputs};
      parts.push_back(add(fmt::format("{}.p{}", name, level + 3), std::make_shared<Reshape>(flat), {x}));
    }
    return add(name, std::make_shared<Concat>(1), std::move(parts));
  }

  /// The body may come from a ResNet's file, which has no other part.
  static void name_parts(ModelVariable& variable) {
    for (WeightMapping& file : variable.files) {
      if (file.external.starts_with(body_prefix)) {
        file.other_names = {file.external.substr(std::string_view(body_prefix).size())};
      } else {
        file.part = file.external.starts_with(class_scores_prefix) ? WeightMapping::Part::classifier
                                                                   : WeightMapping::Part::head;
      }
    }
  }

  const RetinaNetSpec& spec_;
};

}  // namespace

RetinaNetSpec retinanet_spec(const Config& config, const DatasetInfo& data) {
  RetinaNetSpec spec{{image_spec(config, data)}};
  spec.stem = Stem::imagenet;
  spec.zero_init_residual = false;
  spec.frozen_norms = config.model.frozen_norms;
  return spec;
}

RetinaNetSpec retinanet_tiny_spec(const Config& config, const DatasetInfo& data) {
  RetinaNetSpec spec = retinanet_spec(config, data);
  spec.name = "retinanet_tiny";
  spec.depth = 18;
  spec.base_channels = 16;
  spec.frozen_norms = false;
  spec.width = 32;
  spec.head_convolutions = 1;
  return spec;
}

std::unique_ptr<Model> make_retinanet(const RetinaNetSpec& spec) {
  return std::make_unique<ImageModel<RetinaNetBuilder, RetinaNetSpec>>(
      spec.name, spec, spec.frozen_norms ? " frozen_norms" : " batch_norms");
}

}  // namespace ptrain

#include "models/vision/retinanet.h"

#include "core/data/tensor_names.h"
#include "core/ops/concat.h"
#include "core/ops/tensor/reshape.h"
#include "models/vision/feature_pyramid.h"

#include <cmath>

namespace ptrain {
namespace {

constexpr const char* class_scores_prefix = "head.classification_head.cls_logits.";

class RetinaNetBuilder final : public FeaturePyramid {
 public:
  RetinaNetBuilder(const RetinaNetSpec& spec, Mode mode) : FeaturePyramid(spec, mode), spec_(spec) {}

  BuiltModel build(const Bucket& batch) {
    require_size(batch, spec_.name);
    const std::vector<ValueId> levels = all_levels(body(inputs(batch)));
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
  /// Levels of strides 8 to 128.
  std::vector<ValueId> all_levels(const std::array<ValueId, 4>& maps) {
    std::vector<ValueId> levels = pyramid(std::span(maps).subspan(1));
    levels.push_back(pyramid_convolution("extra_blocks.p6", levels.back(), 3, 2));
    const ValueId positive = relu("backbone.fpn.extra_blocks.p6.relu", levels.back());
    levels.push_back(pyramid_convolution("extra_blocks.p7", positive, 3, 2));
    return levels;
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

  static void name_parts(ModelVariable& variable) {
    for (WeightMapping& file : variable.files) {
      if (name_body(file)) continue;
      file.part =
          file.external.starts_with(class_scores_prefix) ? WeightMapping::Part::classifier : WeightMapping::Part::head;
    }
  }

  const RetinaNetSpec& spec_;
};

}  // namespace

RetinaNetSpec retinanet_spec(const Config& config, const DatasetInfo& data) { return {detector_spec(config, data)}; }

RetinaNetSpec retinanet_tiny_spec(const Config& config, const DatasetInfo& data) {
  RetinaNetSpec spec = retinanet_spec(config, data);
  spec.name = "retinanet_tiny";
  shrink(spec);
  spec.head_convolutions = 1;
  return spec;
}

std::unique_ptr<Model> make_retinanet(const RetinaNetSpec& spec) {
  return std::make_unique<ImageModel<RetinaNetBuilder, RetinaNetSpec>>(spec.name, spec, describe_norms(spec));
}

}  // namespace ptrain

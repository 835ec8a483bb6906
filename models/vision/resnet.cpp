// ResNet with a classifier; variables have torchvision's names, and in files of clip models mmaction2's.
#include "models/vision/resnet.h"

#include "core/base/errors.h"
#include "core/config/model_catalog.h"
#include "models/vision/resnet_body.h"

#include <algorithm>

namespace ptrain {
namespace {

/// mmaction2's name for torchvision's `name`: it groups convolutions and norms in pairs below a backbone.
std::string segment_network_name(const std::string& name) {
  constexpr std::string_view classifier = "fc.", norm = "bn";
  if (name.starts_with(classifier)) return "cls_head.fc_cls." + name.substr(classifier.size());
  const std::size_t end = name.rfind('.');  // end of the module's name
  const std::size_t begin = name.rfind('.', end - 1) + 1;
  const std::string before = "backbone." + name.substr(0, begin), part = name.substr(begin, end - begin);
  const std::string variable = name.substr(end);
  if (part == "0") return before + "conv" + variable;  // part of a projection
  if (part == "1") return before + "bn" + variable;
  if (part.starts_with(norm)) return fmt::format("{}conv{}.bn{}", before, part.substr(norm.size()), variable);
  return fmt::format("{}{}.conv{}", before, part, variable);
}

void name_for_segments(ModelVariable& variable) {
  for (WeightMapping& mapping : variable.files) {
    mapping.other_names = {mapping.external};
    mapping.external = segment_network_name(mapping.external);
    if (!mapping.step_counter.empty()) mapping.step_counter = segment_network_name(mapping.step_counter);
  }
}

class ResNetBuilder final : public ResNetBody {
 public:
  ResNetBuilder(const ResNetSpec& spec, Mode mode) : ResNetBody(spec, mode), spec_(spec) {}

  BuiltModel build(const Bucket& batch) {
    const std::int64_t frames = std::max<std::int64_t>(1, spec_.segments);
    const ValueId features = body(inputs(batch, frames)).back();
    BuiltModel built = finish(pooled_classifier("avgpool", "fc", features, frames));
    if (spec_.segments > 0) std::for_each(built.variables.begin(), built.variables.end(), name_for_segments);
    return built;
  }

 private:
  const ResNetSpec& spec_;
};

std::string resnet_name(const ResNetSpec& spec) {
  if (spec.segments > 0) return fmt::format("tsn_resnet{}", spec.depth);
  if (spec.groups > 1) return fmt::format("resnext{}_{}x{}d", spec.depth, spec.groups, spec.group_width);
  if (spec.group_width != 64) return fmt::format("wide_resnet{}_{}", spec.depth, spec.group_width / 64);
  return fmt::format("resnet{}{}", spec.depth, spec.form == ResNetForm::d ? "_vd" : "");
}

class ResNet final : public ImageModel<ResNetBuilder, ResNetSpec> {
 public:
  explicit ResNet(const ResNetSpec& spec)
      : ImageModel(resnet_name(spec), spec, stem_detail(spec.stem) + (spec.blur_pool ? " blur_pool" : "")),
        of_clips_(spec.segments > 0),
        blur_pool_(spec.blur_pool) {}
  std::string sample() const override { return of_clips_ ? "clip" : Model::sample(); }
  std::string variant() const override {
    const std::string stem = ImageModel::variant();
    return blur_pool_ ? stem + (stem.empty() ? "" : "; ") + "blur pool" : stem;
  }

 private:
  bool of_clips_, blur_pool_;
};

}  // namespace

ResNetSpec resnet_spec(const Config& config, const DatasetInfo& data) {
  ResNetSpec spec{image_spec(config, data)};
  spec.zero_init_residual = config.model.zero_init_residual;
  spec.blur_pool = config.model.blur_pool;
  if (config.model.entry.reads_clips()) spec.segments = config.model.segments;
  return spec;
}

std::unique_ptr<Model> make_resnet(const ResNetSpec& spec) {
  const bool plain = spec.groups == 1 && spec.group_width == 64;
  if (!has_bottlenecks(spec.depth) && !plain) {
    fail_usage("{}: only bottlenecks can be grouped or wide", resnet_name(spec));
  }
  return std::make_unique<ResNet>(spec);
}

}  // namespace ptrain

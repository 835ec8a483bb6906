// ResNet as a graph builder; variables have torchvision's names, and in files of clip models mmaction2's.
#include "models/vision/resnet.h"

#include "core/base/errors.h"
#include "core/config/model_catalog.h"
#include "models/vision/vision_blocks.h"

#include <algorithm>

namespace ptrain {
namespace {

struct Stages {
  int depth;
  std::array<int, 4> blocks;
  bool bottleneck;
};

constexpr std::array<Stages, 5> architectures{{{18, {2, 2, 2, 2}, false},
                                               {34, {3, 4, 6, 3}, false},
                                               {50, {3, 4, 6, 3}, true},
                                               {101, {3, 4, 23, 3}, true},
                                               {152, {3, 8, 36, 3}, true}}};

const Stages& get_stages(int depth) {
  for (const Stages& stages : architectures) {
    if (stages.depth == depth) return stages;
  }
  fail_usage("model.name: resnet{} does not exist: expected resnet18, 34, 50, 101 or 152", depth);
}

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

class ResNetBuilder final : public VisionBlocks {
 public:
  ResNetBuilder(const ResNetSpec& spec, Mode mode)
      : VisionBlocks(spec, mode), spec_(spec), last_norm_(spec.zero_init_residual ? NormStart::zero : NormStart::one) {}

  BuiltModel build(const Bucket& batch) {
    const std::int64_t frames = std::max<std::int64_t>(1, spec_.segments);
    ValueId x = stem(inputs(batch, frames));
    const Stages& stages = get_stages(spec_.depth);
    for (std::size_t stage = 0; stage < 4; ++stage) {
      for (int block = 0; block < stages.blocks[stage]; ++block) {
        const std::string name = fmt::format("layer{}.{}", stage + 1, block);
        const std::int64_t width = spec_.base_channels << stage;
        const int stride = stage > 0 && block == 0 ? 2 : 1;
        x = stages.bottleneck ? bottleneck(name, x, width, stride) : basic_block(name, x, width, stride);
      }
    }
    BuiltModel built = finish(pooled_classifier("avgpool", "fc", x, frames));
    if (spec_.segments > 0) std::for_each(built.variables.begin(), built.variables.end(), name_for_segments);
    return built;
  }

 private:
  ValueId stem(ValueId images) {
    const std::int64_t channels = spec_.base_channels;
    if (spec_.stem == Stem::small) return conv_norm_relu("conv1", "bn1", images, {channels, 3});
    if (spec_.form == ResNetForm::d) {
      ValueId x = conv_norm_relu("conv1.0", "conv1.1", images, {channels / 2, 3, 2});
      x = conv_norm_relu("conv1.3", "conv1.4", x, {channels / 2, 3});
      return pooled("maxpool", conv_norm_relu("conv1.6", "bn1", x, {channels, 3}));
    }
    return pooled("maxpool", conv_norm_relu("conv1", "bn1", images, {channels, 7, 2}));
  }

  ValueId pooled(const std::string& name, ValueId x) {
    if (!spec_.blur_pool) return max_pool(name, x, 3, 2, 1);
    return blur_pool(name + ".1", max_pool(name + ".0", x, 3, 1, 1));
  }

  /// A 3x3 convolution, norm and ReLU; with blur pooling they run at full size and the blur has the stride.
  ValueId strided(const std::string& name, int number, ValueId x, ConvSpec spec) {
    const bool blur = spec_.blur_pool && spec.stride == 2;
    if (blur) spec.stride = 1;
    const ValueId y =
        conv_norm_relu(fmt::format("{}.conv{}", name, number), fmt::format("{}.bn{}", name, number), x, spec);
    return blur ? blur_pool(name + ".aa", y) : y;
  }

  ValueId bottleneck(const std::string& name, ValueId x, std::int64_t width, int stride) {
    const std::int64_t inner = width * spec_.group_width / 64 * spec_.groups;
    ValueId y = conv_norm_relu(name + ".conv1", name + ".bn1", x, {inner, 1});
    y = strided(name, 2, y, {inner, 3, stride, spec_.groups});
    y = conv_norm(name + ".conv3", name + ".bn3", y, {4 * width, 1}, last_norm_);
    return add_relu(name, y, shortcut(name, x, 4 * width, stride));
  }

  ValueId basic_block(const std::string& name, ValueId x, std::int64_t width, int stride) {
    ValueId y = strided(name, 1, x, {width, 3, stride});
    y = conv_norm(name + ".conv2", name + ".bn2", y, {width, 3}, last_norm_);
    return add_relu(name, y, shortcut(name, x, width, stride));
  }

  /// The identity, or a projection if the shape changes.
  ValueId shortcut(const std::string& name, ValueId x, std::int64_t width, int stride) {
    if (stride == 1 && channels(x) == width) return x;
    if (spec_.form == ResNetForm::plain) {
      return conv_norm(name + ".downsample.0", name + ".downsample.1", x, {width, 1, stride});
    }
    if (stride > 1) x = avg_pool(name + ".downsample.0", x, stride);
    return conv_norm(name + ".downsample.1", name + ".downsample.2", x, {width, 1});
  }

  const ResNetSpec& spec_;
  NormStart last_norm_;  // in each residual branch
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
  if (!get_stages(spec.depth).bottleneck && !plain) {
    fail_usage("{}: only bottlenecks can be grouped or wide", resnet_name(spec));
  }
  return std::make_unique<ResNet>(spec);
}

}  // namespace ptrain

#include "models/vision/ppocr_detector.h"

#include "core/ops/concat.h"
#include "core/ops/image/scale_channels.h"
#include "core/ops/tensor/unary.h"
#include "models/vision/lcnet.h"
#include "models/vision/text_map_heads.h"

namespace ptrain {
namespace {

constexpr int coarsest = 32;  // px, the stride of the last feature map
constexpr int mixed_width = 7;

const std::vector<LcnetStage>& list_detector_stages() {
  using enum LcnetStride;
  static constexpr bool excites = true;
  static const std::vector<LcnetStage> stages{
      {"blocks_s1", {{1, none, excites}, {1}}},
      {"blocks_s2", {{2, both}, {2, none, excites}, {2}}},
      {"blocks_s3", {{4, both}, {4, none, excites}, {4}, {4, none, excites}, {4}}},
      {"blocks_s4", {{8, both}, {8, none, excites}, {8}}}};
  return stages;
}

class PpocrDetectorBuilder final : public TextMapHeads<LcnetBlocks> {
 public:
  PpocrDetectorBuilder(const PpocrDetectorSpec& spec, Mode mode)
      : TextMapHeads<LcnetBlocks>(spec, mode, spec.channels), spec_(spec) {}

  BuiltModel build(const Bucket& batch) {
    require_multiples(batch, coarsest, spec_.name);
    ValueId x = lcnet_stem("backbone.stem", inputs(batch));
    std::vector<ValueId> maps;
    for (const LcnetStage& stage : list_detector_stages()) maps.push_back(x = lcnet_stage(stage, x));
    BuiltModel built = finish(text_maps({"head.binarize", "head.thresh", "conv_bn"}, neck(maps)));
    for (ModelVariable& variable : built.variables) {
      for (WeightMapping& file : variable.files) {
        if (file.external.starts_with("head.")) file.part = WeightMapping::Part::head;
      }
    }
    return built;
  }

 private:
  /// Feature maps, the finest first, to one of neck_channels in the finest's size.
  ValueId neck(std::span<const ValueId> maps) {
    std::vector<ValueId> sums;
    for (std::size_t i = 0; i < maps.size(); ++i) {
      const std::string name = fmt::format("neck.ins_conv.{}", i);
      const ConvSpec widened{.channels = spec_.neck_channels, .kernel = 1};
      sums.push_back(excite(name + ".se_block", convolution(name + ".in_conv", maps[i], widened)));
    }
    for (std::size_t i = sums.size() - 1; i-- > 0;) {
      sums[i] = add_enlarged(fmt::format("neck.top_down.{}", i), sums[i], sums[i + 1]);
    }
    std::vector<ValueId> levels;
    for (std::size_t i = sums.size(); i-- > 0;) levels.push_back(mix(i, sums[i]));
    return add("neck.fuse", std::make_shared<Concat>(-1), std::move(levels));
  }

  /// A quarter of the channels, in the finest map's size.
  ValueId mix(std::size_t level, ValueId x) {
    const auto part = [level](const char* name) { return fmt::format("neck.{}.{}", name, level); };
    const std::string mixer = part("inp_conv_dw");
    x = conv_norm(mixer + ".lk_origin", mixer + ".origin_bn", x, depthwise(x, 1, mixed_width));
    x = convolution(part("inp_conv_pw"), x, {.channels = spec_.neck_channels / 4, .kernel = 1});
    x = excite(part("inp_conv_se"), x);
    return level == 0 ? x : enlarge(part("enlarged"), x, std::int64_t{1} << level);
  }

  /// x and its squeeze and excitation, whose gate is PaddleOCR's hard sigmoid, of slope 0.2.
  ValueId excite(const std::string& name, ValueId x) {
    const SqueezeExcite spec{channels(x) / 4, Activation::relu, Activation::hard_sigmoid, ".conv1", ".conv2"};
    const auto map = [&](const char* part, ValueId value, const UnaryAttributes& attributes) {
      return add(name + part, std::make_shared<Unary>(attributes), {value});
    };
    const ValueId raised = map(".raised", gate_logits(name, x, spec), {UnaryFunction::affine, {0.2f, 1.5f}});
    const ValueId scale = map(".scale", raised, {UnaryFunction::clamp, {1, 2}});
    return add(name, std::make_shared<ScaleChannels>(), {x, scale});
  }

  const PpocrDetectorSpec& spec_;
};

}  // namespace

PpocrDetectorSpec ppocrv6_det_small_spec(const Config& config, const DatasetInfo& data) {
  return {{image_spec(config, data)}};
}

PpocrDetectorSpec ppocr_det_tiny_spec(const Config& config, const DatasetInfo& data) {
  PpocrDetectorSpec spec = ppocrv6_det_small_spec(config, data);
  spec.name = "ppocr_det_tiny";
  spec.channels = 16;
  spec.neck_channels = 32;
  return spec;
}

std::unique_ptr<Model> make_ppocr_detector(const PpocrDetectorSpec& spec) {
  return std::make_unique<ImageModel<PpocrDetectorBuilder, PpocrDetectorSpec>>(spec.name, spec);
}

}  // namespace ptrain

#include "models/vision/pp_yoloe.h"

#include "core/data/tensor_names.h"
#include "core/ops/concat.h"
#include "core/ops/detection/detect_objects.h"
#include "core/ops/image/global_average_pool.h"
#include "core/ops/image/scale_channels.h"
#include "core/ops/math/box_distribution.h"
#include "core/ops/tensor/binary.h"
#include "core/ops/tensor/reshape.h"
#include "models/vision/vision_blocks.h"

#include <algorithm>
#include <array>
#include <cmath>

namespace ptrain {
namespace {

constexpr int largest_stride = 32;      // px, the stride of the last feature map
constexpr std::int64_t side_bins = 17;  // of a side's distance
constexpr std::size_t yolo_levels = 3;  // of strides 32, 16 and 8

constexpr std::string_view class_logit_layers = "yolo_head.pred_cls.";
constexpr std::string_view yolo_head_prefix = "yolo_head.";

/// Whether a block adds its input, and scales the convolution of one pixel beside its 3x3 one.
enum class BlockForm { residual_scaled, plain };

class PpYoloeBuilder final : public VisionBlocks {
 public:
  using Levels = std::array<ValueId, yolo_levels>;  // the coarsest first

  PpYoloeBuilder(const PpYoloeSpec& spec, Mode mode) : VisionBlocks(spec, mode), spec_(spec) {}

  BuiltModel build(const Bucket& batch) {
    require_multiples(batch, largest_stride, spec_.name);
    const Levels levels = neck(backbone(inputs(batch)));
    if (training()) {
      const std::int64_t objects = std::max<std::int64_t>(1, batch.get(extent_names::objects));
      graph_.add_input(tensor_names::object_boxes, {DType::f32, Shape{batch.rows, objects, DetectObjects::columns}});
    }
    std::vector<ValueId> logits, sides;
    for (std::size_t i = 0; i < levels.size(); ++i) {
      const ValueId means = average(fmt::format("yolo_head.means.{}", i), levels[i]);
      logits.push_back(class_logits(i, levels[i], means));
      sides.push_back(box_bins(i, levels[i], means));
    }
    graph_.set_output(tensor_names::box_bins, concatenate("yolo_head.bins", std::move(sides), 1));
    BuiltModel built = finish(tensor_names::class_logits, concatenate("yolo_head.logits", std::move(logits), 1));
    for (ModelVariable& variable : built.variables) {
      for (WeightMapping& file : variable.files) name_in_files(file);
    }
    return built;
  }

 private:
  std::int64_t scaled_channels(std::int64_t channels) const {
    return std::max(std::lround(static_cast<float>(channels) * spec_.width), 1L);
  }
  int scaled_blocks(int blocks) const {
    return static_cast<int>(std::max(std::lround(static_cast<float>(blocks) * spec_.depth), 1L));
  }

  ValueId concatenate(const std::string& name, std::vector<ValueId> parts, int axis = -1) {
    return add(name, std::make_shared<Concat>(axis), std::move(parts));
  }

  /// PaddleDetection's ConvBNLayer without its activation; filters start as Paddle's.
  ValueId unit(const std::string& name, ValueId x, ConvSpec spec) {
    spec.deviation = std::sqrt(2.0f / static_cast<float>(channels(x) * spec.kernel * spec.kernel));
    return conv_norm(name + ".conv", name + ".bn", x, spec);
  }
  ValueId active_unit(const std::string& name, ValueId x, const ConvSpec& spec) {
    return activate(Activation::silu, name + ".act", unit(name, x, spec));
  }

  /// Convolutions of 3x3 pixels and of one, added (Ding et al. 2021, "RepVGG").
  ValueId parallel_units(const std::string& name, ValueId x, BlockForm form) {
    const ValueId wide = unit(name + ".conv1", x, {channels(x), 3});
    ValueId narrow = unit(name + ".conv2", x, {channels(x), 1});
    if (form == BlockForm::residual_scaled) {
      const ValueId alpha = parameter(make_variable(name + ".alpha", Shape{1}, constant_start(1)));
      narrow = add(name + ".scaled", std::make_shared<Binary>(BinaryFunction::mul), {narrow, alpha});
    }
    return activate(Activation::silu, name + ".act", sum(name + ".sum", wide, narrow));
  }

  ValueId block(const std::string& name, ValueId x, BlockForm form) {
    const ValueId y = parallel_units(name + ".conv2", active_unit(name + ".conv1", x, {channels(x), 3}), form);
    return form == BlockForm::residual_scaled ? sum(name + ".add", x, y) : y;
  }

  ValueId average(const std::string& name, ValueId x) { return add(name, std::make_shared<GlobalAveragePool>(), {x}); }

  /// Squeeze and excitation by one layer of the channels' means (Lee and Park 2020, "CenterMask").
  ValueId excite(const std::string& name, ValueId x, ValueId means, Activation gate, float deviation) {
    const ValueId gates = activate(gate, name + ".gate", pointwise_linear(name + ".fc", means, channels(x), deviation));
    return add(name, std::make_shared<ScaleChannels>(), {x, gates});
  }

  /// Feature maps of strides 32, 16 and 8.
  Levels backbone(ValueId images) {
    const std::array<std::int64_t, 5> widths{scaled_channels(64), scaled_channels(128), scaled_channels(256),
                                             scaled_channels(512), scaled_channels(1024)};
    constexpr std::array<int, 4> blocks{3, 6, 6, 3};
    const std::string stem = "backbone.stem.conv";
    ValueId x = active_unit(stem + "1", images, {widths[0] / 2, 3, 2});
    x = active_unit(stem + "2", x, {widths[0] / 2, 3});
    x = active_unit(stem + "3", x, {widths[0], 3});
    Levels levels{};
    for (std::size_t i = 0; i < blocks.size(); ++i) {
      x = stage(fmt::format("backbone.stages.{}", i), x, widths[i + 1], scaled_blocks(blocks[i]));
      if (i > 0) levels[yolo_levels - i] = x;
    }
    return levels;
  }

  ValueId stage(const std::string& name, ValueId x, std::int64_t outputs, int blocks) {
    const std::int64_t middle = (channels(x) + outputs) / 2;
    x = active_unit(name + ".conv_down", x, {middle, 3, 2});
    const ValueId passed = active_unit(name + ".conv1", x, {middle / 2, 1});
    ValueId y = active_unit(name + ".conv2", x, {middle / 2, 1});
    for (int i = 0; i < blocks; ++i) y = block(fmt::format("{}.blocks.{}", name, i), y, BlockForm::residual_scaled);
    y = concatenate(name + ".both", {passed, y});
    const float deviation = std::sqrt(2.0f / static_cast<float>(channels(y)));
    y = excite(name + ".attn", y, average(name + ".mean", y), Activation::hard_sigmoid, deviation);
    return active_unit(name + ".conv3", y, {outputs, 1});
  }

  enum class SpatialPyramid { no, yes };

  ValueId neck_stage(const std::string& name, ValueId x, std::int64_t outputs, SpatialPyramid pyramid) {
    const std::int64_t middle = outputs / 2;
    const int blocks = scaled_blocks(3);
    const ValueId passed = active_unit(name + ".conv1", x, {middle, 1});
    ValueId y = active_unit(name + ".conv2", x, {middle, 1});
    for (int i = 0; i < blocks; ++i) {
      y = block(fmt::format("{}.convs.{}", name, i), y, BlockForm::plain);
      if (i == (blocks - 1) / 2 && pyramid == SpatialPyramid::yes) y = spatial_pyramid(name + ".convs.spp", y);
    }
    return active_unit(name + ".conv3", concatenate(name + ".both", {passed, y}), {outputs, 1});
  }

  /// Maxima over windows of three sizes besides the map (He et al. 2015, "Spatial pyramid pooling").
  ValueId spatial_pyramid(const std::string& name, ValueId x) {
    std::vector<ValueId> parts{x};
    for (const int window : {5, 9, 13}) {
      parts.push_back(max_pool(fmt::format("{}.pool{}", name, window), x, window, 1, window / 2));
    }
    return active_unit(name + ".conv", concatenate(name + ".all", std::move(parts)), {channels(x), 1});
  }

  /// Coarse maps flow into finer ones, then finer into coarser.
  Levels neck(const Levels& maps) {
    const std::array<std::int64_t, yolo_levels> widths{scaled_channels(768), scaled_channels(384),
                                                       scaled_channels(192)};
    Levels levels{};
    ValueId route = no_value;
    for (std::size_t i = 0; i < yolo_levels; ++i) {
      const ValueId x = i == 0 ? maps[i] : concatenate(fmt::format("neck.fpn_inputs.{}", i), {route, maps[i]});
      levels[i] = neck_stage(fmt::format("neck.fpn_stages.{}.0", i), x, widths[i],
                             i == 0 ? SpatialPyramid::yes : SpatialPyramid::no);
      if (i + 1 == yolo_levels) break;
      const std::string name = fmt::format("neck.fpn_routes.{}", i);
      route = enlarge(name + ".enlarged", active_unit(name, levels[i], {widths[i] / 2, 1}));
    }
    for (std::size_t i = yolo_levels - 1; i-- > 0;) {
      const ValueId finer = active_unit(fmt::format("neck.pan_routes.{}", i), levels[i + 1], {widths[i + 1], 3, 2});
      const ValueId x = concatenate(fmt::format("neck.pan_inputs.{}", i), {finer, levels[i]});
      levels[i] = neck_stage(fmt::format("neck.pan_stages.{}.0", i), x, widths[i], SpatialPyramid::no);
    }
    return levels;
  }

  /// What the classes, or the boxes, read of a level with these means.
  ValueId head_stem(const std::string& name, ValueId x, ValueId means) {
    constexpr float deviation = 0.001f;
    return active_unit(name + ".conv", excite(name, x, means, Activation::sigmoid, deviation), {channels(x), 1});
  }

  /// A 3x3 convolution with a bias, and filters that are zero at first, as rows of `outputs` for each pixel.
  ValueId predict(const std::string& name, ValueId x, std::int64_t outputs, float bias) {
    const ValueId y = apply(name, shared_convolution(name, channels(x), {outputs, 3}, constant_start(0), bias), x);
    const Shape shape = graph_.desc(y).shape;
    const Shape rows{shape[0], shape[1] * shape[2], outputs};
    return add(name + ".rows", std::make_shared<Reshape>(rows), {y});
  }

  ValueId class_logits(std::size_t level, ValueId x, ValueId means) {
    constexpr float rare = 0.01f;  // share of locations with an object of a class, at first
    const std::string stem = fmt::format("yolo_head.stem_cls.{}", level);
    const ValueId y = sum(stem + ".add", head_stem(stem, x, means), x);
    return predict(fmt::format("yolo_head.pred_cls.{}", level), y, spec_.classes, -std::log((1 - rare) / rare));
  }

  ValueId box_bins(std::size_t level, ValueId x, ValueId means) {
    const ValueId y = head_stem(fmt::format("yolo_head.stem_reg.{}", level), x, means);
    return predict(fmt::format("yolo_head.pred_reg.{}", level), y, box_sides * side_bins, 1);
  }

  /// PaddleDetection's names of running statistics; the class layer is the only one that depends on the classes.
  static void name_in_files(WeightMapping& file) {
    file.step_counter.clear();
    for (const auto& [own, paddle] :
         {std::pair<std::string_view, std::string_view>{".running_mean", "._mean"}, {".running_var", "._variance"}}) {
      if (!file.external.ends_with(own)) continue;
      file.external.replace(file.external.size() - own.size(), own.size(), paddle);
      break;
    }
    if (file.external.starts_with(class_logit_layers)) {
      file.part = WeightMapping::Part::classifier;
    } else if (file.external.starts_with(yolo_head_prefix)) {
      file.part = WeightMapping::Part::head;
    }
  }

  const PpYoloeSpec& spec_;
};

class PpYoloe final : public ImageModel<PpYoloeBuilder, PpYoloeSpec> {
 public:
  using ImageModel::ImageModel;
  /// Training reads objects.
  Bucket bucket_for(const Bucket& batch, Mode mode) const override {
    Bucket bucket = ImageModel::bucket_for(batch, mode);
    return mode == Mode::training ? bucket.set(extent_names::objects, batch.get(extent_names::objects)) : bucket;
  }
};

}  // namespace

PpYoloeSpec ppyoloe_plus_s_spec(const Config& config, const DatasetInfo& data) {
  PpYoloeSpec spec{image_spec(config, data)};
  spec.pixels = {{0, 0, 0}, {1, 1, 1}};  // images are not normalised
  return spec;
}

PpYoloeSpec ppyoloe_tiny_spec(const Config& config, const DatasetInfo& data) {
  PpYoloeSpec spec = ppyoloe_plus_s_spec(config, data);
  spec.name = "ppyoloe_tiny";
  spec.width = 0.25f;
  return spec;
}

std::unique_ptr<Model> make_pp_yoloe(const PpYoloeSpec& spec) { return std::make_unique<PpYoloe>(spec.name, spec); }

}  // namespace ptrain

#include "models/vision/deeplab.h"

#include "core/base/errors.h"
#include "core/data/tensor_names.h"
#include "core/ops/concat.h"
#include "core/ops/image/global_average_pool.h"
#include "core/ops/image/resize_bilinear.h"
#include "core/ops/tensor/reshape.h"
#include "models/vision/resnet_body.h"

#include <algorithm>
#include <utility>

namespace ptrain {
namespace {

constexpr std::int64_t head_channels = 256;

/// Backbones may come from files of classifiers, without the prefix; heads may be missing there, or be for other
/// classes.
void name_parts(ModelVariable& variable, const std::vector<std::string>& final_layers) {
  constexpr std::string_view backbone = "backbone.";
  WeightMapping& file = variable.files.front();
  if (file.external.starts_with(backbone)) {
    file.other_names = {file.external.substr(backbone.size())};
    return;
  }
  const std::string layer = variable.name.substr(0, variable.name.rfind('.'));
  const bool is_final = std::ranges::find(final_layers, layer) != final_layers.end();
  file.part = is_final ? WeightMapping::Part::classifier : WeightMapping::Part::head;
}

class DeepLabBuilder final : public ResNetBody {
 public:
  DeepLabBuilder(const DeepLabSpec& spec, Mode mode) : ResNetBody(spec, mode, "backbone."), spec_(spec) {}

  BuiltModel build(const Bucket& batch) {
    if (training() && batch.rows < 2) {
      fail_usage(
          "data.batch_size: expected at least 2 for DeepLab, which normalises the means of the images of a batch");
    }
    const ImageSize size = image_size(batch);
    const std::array<ValueId, 4> maps = body(inputs(batch));
    const ValueId low = maps[0], middle = maps[2], high = maps[3];
    std::vector<std::string> final_layers;
    ValueId logits = no_value;
    if (spec_.deeplab == DeepLabForm::v3) {
      logits = plain_head(high);
      final_layers = {"classifier.4", "aux_classifier.4"};
      if (training()) {
        graph_.set_output(tensor_names::auxiliary, resized("auxiliary", auxiliary_head(middle), size));
      } else {
        declare_variables([&] { auxiliary_head(middle); });
      }
    } else {
      logits = decoder(low, high);
      final_layers = {"classifier.classifier.3"};
    }
    BuiltModel built = finish(resized("logits", logits, size));
    for (ModelVariable& variable : built.variables) name_parts(variable, final_layers);
    return built;
  }

 private:
  ValueId resized(const std::string& name, ValueId x, ImageSize size) {
    return add(name, std::make_shared<ResizeBilinear>(ResizeBilinearAttributes{size.height, size.width}), {x});
  }

  /// 1x1, with a bias and Fluid's initial deviation.
  ValueId final_layer(const std::string& name, ValueId x) {
    constexpr float deviation = 0.01f;
    return convolution(name, x,
                       {.channels = spec_.classes, .kernel = 1, .bias = ConvBias::zero, .deviation = deviation});
  }

  ValueId plain_head(ValueId x) {
    x = pyramid("classifier.0", x);
    return final_layer("classifier.4", conv_norm_relu("classifier.1", "classifier.2", x, {head_channels, 3}));
  }

  ValueId auxiliary_head(ValueId x) {
    const float main_dropout = std::exchange(dropout_, dropout_ / 5);
    x = conv_norm_relu("aux_classifier.0", "aux_classifier.1", x, {channels(x) / 4, 3});
    x = final_layer("aux_classifier.4", dropout("aux_classifier.3", x));
    dropout_ = main_dropout;
    return x;
  }

  ValueId decoder(ValueId low, ValueId high) {
    constexpr std::int64_t low_channels = 48;
    low = conv_norm_relu("classifier.project.0", "classifier.project.1", low, {low_channels, 1});
    const Shape shape = graph_.desc(low).shape;  // a copy: nodes that are added move descriptors
    high = resized("classifier.resize", pyramid("classifier.aspp", high), {shape[1], shape[2]});
    const ValueId x = add("classifier.concat", std::make_shared<Concat>(-1), {low, high});
    return final_layer("classifier.classifier.3",
                       conv_norm_relu("classifier.classifier.0", "classifier.classifier.1", x, {head_channels, 3}));
  }

  /// Atrous spatial pyramid pooling.
  ValueId pyramid(const std::string& name, ValueId x) {
    const std::string branch = name + ".convs.";
    const auto conv = [&](int number, const ConvSpec& spec) {
      const std::string of_branch = branch + std::to_string(number);
      return conv_norm_relu(of_branch + ".0", of_branch + ".1", x, spec);
    };
    std::vector<ValueId> all{conv(0, {head_channels, 1})};
    const int rate = spec_.output_stride == 8 ? 12 : 6;
    for (int i = 1; i <= 3; ++i) {
      all.push_back(conv(i, {.channels = head_channels, .kernel = 3, .dilation = i * rate}));
    }
    all.push_back(image_features(branch + "4", x));
    x = add(name + ".concat", std::make_shared<Concat>(-1), std::move(all));
    x = conv_norm_relu(name + ".project.0", name + ".project.1", x, {head_channels, 1});
    return dropout(name + ".project.3", x);
  }

  /// The mean over the image, at every pixel.
  ValueId image_features(const std::string& name, ValueId x) {
    const Shape shape = graph_.desc(x).shape;
    ValueId mean = add(name + ".0", std::make_shared<GlobalAveragePool>(), {x});
    mean = add(name + ".pixel", std::make_shared<Reshape>(Shape{shape[0], 1, 1, shape[3]}), {mean});
    mean = conv_norm_relu(name + ".1", name + ".2", mean, {head_channels, 1});
    return add(name + ".expand", std::make_shared<Expand>(Shape{shape[0], shape[1], shape[2], head_channels}), {mean});
  }

  const DeepLabSpec& spec_;
};

std::string deeplab_name(const DeepLabSpec& spec) {
  return fmt::format("{}_resnet{}", spec.deeplab == DeepLabForm::v3 ? "deeplabv3" : "deeplabv3p", spec.depth);
}

}  // namespace

DeepLabSpec deeplab_spec(DeepLabForm form, const Config& config, const DatasetInfo& data) {
  DeepLabSpec spec{resnet_spec(config, data), form};
  spec.stem = Stem::imagenet;
  spec.output_stride = static_cast<int>(config.model.output_stride);
  if (spec.output_stride == 0) spec.output_stride = form == DeepLabForm::v3 ? 8 : 16;
  if (spec.output_stride != 8 && spec.output_stride != 16) {
    fail_usage("model.output_stride: expected 8 or 16, or 0 for the model's own, got {}", spec.output_stride);
  }
  return spec;
}

std::unique_ptr<Model> make_deeplab(const DeepLabSpec& spec) {
  return std::make_unique<ImageModel<DeepLabBuilder, DeepLabSpec>>(deeplab_name(spec), spec);
}

}  // namespace ptrain

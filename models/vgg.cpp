#include "models/vgg.h"

#include "core/base/errors.h"

namespace ptrain {
namespace {

/// 3x3 convolutions of as many channels each, then an image of half the size.
struct VggStage {
  int convolutions;
  std::int64_t channels;
};

constexpr std::array<VggStage, 5> vgg_stages{{{2, 64}, {2, 128}, {3, 256}, {3, 512}, {3, 512}}};
constexpr std::int64_t smallest_vgg_image = 1 << vgg_stages.size();  // px
constexpr std::int64_t vgg_grid = 7, vgg_hidden = 4096;

class VggBuilder final : public VisionBlocks {
 public:
  VggBuilder(const VggSpec& spec, Mode mode) : VisionBlocks(mode, spec.dropout), spec_(spec) {}

  BuiltModel build(const BatchShape& batch) {
    const ValueId x = features(inputs(batch, spec_.image_size, spec_.pixels));
    add_loss(logits(x), spec_.label_smoothing);
    return take();
  }

 private:
  /// torchvision numbers convolutions, norms, ReLUs and pools through.
  ValueId features(ValueId x) {
    int index = 0;
    const auto next = [&] { return fmt::format("features.{}", index++); };
    for (const VggStage& stage : vgg_stages) {
      const ConvSpec spec{.channels = stage.channels, .kernel = 3, .bias = ConvBias::zero};
      for (int i = 0; i < stage.convolutions; ++i) {
        x = convolution(next(), x, spec);
        if (spec_.form == VggForm::batch_norm) x = batch_norm(next(), x, NormStart::one);
        x = relu(next(), x);
      }
      x = max_pool(next(), x, 2, 2, 0);
    }
    return x;
  }

  ValueId logits(ValueId x) {
    const Initializer start = normal_start(0.01f), zero = constant_start(0);
    x = grid_linear("avgpool", "classifier.0", x, vgg_grid, vgg_hidden, start);
    x = dropout("classifier.2", relu("classifier.1", x));
    x = linear("classifier.3", x, variable_of("classifier.3.weight", Shape{vgg_hidden, vgg_hidden}, start),
               variable_of("classifier.3.bias", Shape{vgg_hidden}, zero));
    x = dropout("classifier.5", relu("classifier.4", x));
    return classifier("classifier.6", x, spec_.classes, start, zero);
  }

  const VggSpec& spec_;
};

class Vgg final : public Model {
 public:
  explicit Vgg(const VggSpec& spec) : spec_(spec) {
    if (spec.image_size < smallest_vgg_image) {
      fail_usage("data.image_size: {} halves images five times: expected {} px or more, got {}", name(),
                 smallest_vgg_image, spec.image_size);
    }
  }

  std::string name() const override { return spec_.form == VggForm::plain ? "vgg16" : "vgg16_bn"; }
  std::string signature() const override { return fmt::format("{} classes={}", name(), spec_.classes); }
  BuiltModel construct(const BatchShape& batch, Mode mode) const override {
    if (batch.image_size > 0 && batch.image_size < smallest_vgg_image) {
      fail_usage("train.phases.image_size: {} halves images five times: expected {} px or more, got {}", name(),
                 smallest_vgg_image, batch.image_size);
    }
    return VggBuilder(spec_, mode).build(batch);
  }
  DataKind reads() const override { return DataKind::image; }

 private:
  VggSpec spec_;
};

}  // namespace

VggSpec vgg_spec(VggForm form, const Config& config, const DatasetInfo& data) {
  VggSpec spec;
  spec.form = form;
  spec.classes = config.model.classes;
  spec.image_size = data.image_size;
  spec.label_smoothing = static_cast<float>(config.train.label_smoothing);
  spec.dropout = static_cast<float>(config.model.dropout);
  spec.pixels = {data.mean, data.stddev};
  return spec;
}

std::unique_ptr<Model> make_vgg(const VggSpec& spec) { return std::make_unique<Vgg>(spec); }

}  // namespace ptrain

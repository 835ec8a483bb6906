// Shared by image models besides blocks: options from the configuration, and the model around a builder.
#pragma once

#include "core/base/enums.h"
#include "core/config/config.h"
#include "core/data/dataset.h"
#include "core/model/model.h"

#include <fmt/format.h>

#include <array>

namespace ptrain {

/// Normalisation of pixels: (pixel / 255 - mean[c]) / deviation[c].
struct PixelScale {
  std::array<float, 3> mean{0.485f, 0.456f, 0.406f};
  std::array<float, 3> deviation{0.229f, 0.224f, 0.225f};
};

struct ImageSpec {
  std::int64_t classes = 1000;
  ImageSize image_size = 224;
  Stem stem = Stem::imagenet;  // not automatic; small: the first convolution has no stride
  AttentionAlgorithm attention = AttentionAlgorithm::flash;
  float dropout = 0;           // of features, before a linear layer
  float stochastic_depth = 0;  // the largest probability of dropping a residual branch, that of the last block
  PixelScale pixels = {};
};

/// Resolves automatic: small for small images, else imagenet.
Stem stem_for(Stem requested, ImageSize image_size);

/// The spec for a configuration and data; dropouts that the model does not support stay 0.
ImageSpec image_spec(const Config& config, const DatasetInfo& data);

/// A model whose graph Builder(spec, mode).build(batch) makes. The specification is an ImageSpec or derived from it.
template <typename Builder, typename Spec = ImageSpec>
class ImageModel : public Model {
 public:
  /// `details` distinguish models of this name with incompatible checkpoints; they begin with a space. Models that
  /// depend on the stem have some.
  ImageModel(std::string name, const Spec& spec, const std::string& details = {})
      : name_(std::move(name)), signature_(fmt::format("{} classes={}{}", name_, spec.classes, details)), spec_(spec) {
    if (!details.empty() && spec.stem == Stem::small) variant_ = "small stem: the first convolution has stride 1";
  }

  std::string name() const override { return name_; }
  std::string signature() const override { return signature_; }
  std::string variant() const override { return variant_; }
  BuiltModel construct(const Bucket& batch, Mode mode) const override { return Builder(spec_, mode).build(batch); }
  DataKind reads() const override { return DataKind::image; }

 private:
  std::string name_, signature_, variant_;
  Spec spec_;
};

/// The detail for models that depend on the stem.
inline std::string stem_detail(Stem stem) { return fmt::format(" stem={}", enum_name(stem)); }

}  // namespace ptrain

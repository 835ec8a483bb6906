// What image classifiers are made from besides blocks: what a configuration asks of one, and the model around its
// builder.
#pragma once

#include "core/base/enums.h"
#include "core/config/config.h"
#include "core/data/dataset.h"
#include "core/model/model.h"

#include <fmt/format.h>

#include <array>

namespace ptrain {

/// How pixels become what the first convolution reads: (pixel / 255 - mean[c]) / deviation[c].
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
  float stochastic_depth = 0;  // the largest probability of leaving a sample out of a branch, that of the last block
  PixelScale pixels = {};
};

/// `asked`, or where it is automatic the small one of small images and ImageNet's of others.
Stem stem_for(Stem asked, ImageSize image_size);

/// What the configuration and the data ask for; dropouts that the model does not read stay 0.
ImageSpec image_spec(const Config& config, const DatasetInfo& data);

/// A classifier whose graph Builder(spec, mode).build(batch) makes. The specification is an ImageSpec or more.
template <typename Builder, typename Spec = ImageSpec>
class ImageModel : public Model {
 public:
  /// `details` tell apart models of this name whose checkpoints do not fit each other; they begin with a blank.
  ImageModel(std::string name, const Spec& spec, const std::string& details = {})
      : name_(std::move(name)), signature_(fmt::format("{} classes={}{}", name_, spec.classes, details)), spec_(spec) {}

  std::string name() const override { return name_; }
  std::string signature() const override { return signature_; }
  BuiltModel construct(const Bucket& batch, Mode mode) const override { return Builder(spec_, mode).build(batch); }
  DataKind reads() const override { return DataKind::image; }

 private:
  std::string name_, signature_;
  Spec spec_;
};

/// The detail of models that differ by their first convolution.
inline std::string stem_detail(Stem stem) { return fmt::format(" stem={}", enum_name(stem)); }

}  // namespace ptrain

// A ResNet and the pyramid of its feature maps (Lin et al. 2017, "Feature pyramid networks"), which detectors have as
// torchvision's "backbone".
#pragma once

#include "models/vision/detector_spec.h"
#include "models/vision/resnet_body.h"

#include <span>
#include <string>
#include <vector>

namespace ptrain {

class FeaturePyramid : public ResNetBody {
 protected:
  /// `spec` must outlive this.
  FeaturePyramid(const DetectorSpec& spec, Mode mode);

  /// Throws Error{usage} unless images have sides of multiples of the ResNet's stride, 32 px. `model` is its name.
  void require_size(const Bucket& batch, const std::string& model) const { require_multiples(batch, 32, model); }
  /// A map of the pyramid for each of the ResNet's maps, the finest first.
  std::vector<ValueId> pyramid(std::span<const ValueId> maps) { return pyramid(maps, width_); }
  /// The same with maps of other channels than the sums from which they are computed.
  std::vector<ValueId> pyramid(std::span<const ValueId> maps, std::int64_t outputs);
  /// A convolution named below backbone.fpn, to the pyramid's width, starting as the pyramid's.
  ValueId pyramid_convolution(const std::string& name, ValueId x, int kernel, int stride = 1) {
    return pyramid_convolution(name, x, {width_, kernel, stride});
  }
  /// If it is the ResNet's, gives a variable in a file its name in a ResNet's file, which has no other part.
  static bool name_body(WeightMapping& file);

  std::int64_t width() const { return width_; }

 private:
  ValueId pyramid_convolution(const std::string& name, ValueId x, const ConvSpec& spec);

  std::int64_t width_;
};

}  // namespace ptrain

#include "models/vision/feature_pyramid.h"

#include <cmath>

namespace ptrain {
namespace {

constexpr const char* body_prefix = "backbone.body.";
constexpr const char* pyramid_prefix = "backbone.fpn.";

}  // namespace

FeaturePyramid::FeaturePyramid(const DetectorSpec& spec, Mode mode)
    : ResNetBody(spec, mode, body_prefix, spec.frozen_norms ? Norms::frozen : Norms::batch), width_(spec.width) {}

ValueId FeaturePyramid::pyramid_convolution(const std::string& name, ValueId x, const ConvSpec& spec) {
  // Uniform as by torch.nn.init.kaiming_uniform_ with a = 1.
  const auto fan_in = static_cast<float>(channels(x) * spec.kernel * spec.kernel);
  const std::string whole = pyramid_prefix + name;
  return apply(whole, shared_convolution(whole, channels(x), spec, uniform_start(std::sqrt(3.0f / fan_in))), x);
}

std::vector<ValueId> FeaturePyramid::pyramid(std::span<const ValueId> maps, std::int64_t outputs) {
  std::vector<ValueId> levels;
  for (std::size_t i = 0; i < maps.size(); ++i)
    levels.push_back(pyramid_convolution(fmt::format("inner_blocks.{}.0", i), maps[i], 1));
  for (std::size_t i = levels.size() - 1; i-- > 0;)
    levels[i] = add_enlarged(fmt::format("{}top_down.{}", pyramid_prefix, i), levels[i], levels[i + 1]);
  for (std::size_t i = 0; i < levels.size(); ++i)
    levels[i] = pyramid_convolution(fmt::format("layer_blocks.{}.0", i), levels[i], {outputs, 3});
  return levels;
}

bool FeaturePyramid::name_body(WeightMapping& file) {
  if (!file.external.starts_with(body_prefix)) return false;
  file.other_names = {file.external.substr(std::string_view(body_prefix).size())};
  return true;
}

}  // namespace ptrain

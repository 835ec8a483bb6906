#include "models/vision/feature_pyramid.h"

#include "core/base/errors.h"
#include "core/ops/image/conv2d.h"
#include "core/ops/tensor/binary.h"
#include "core/ops/tensor/reshape.h"

#include <cmath>

namespace ptrain {
namespace {

constexpr const char* body_prefix = "backbone.body.";
constexpr const char* pyramid_prefix = "backbone.fpn.";
constexpr int coarsest = 32;  // px, the stride of the ResNet's last feature map

}  // namespace

FeaturePyramid::FeaturePyramid(const DetectorSpec& spec, Mode mode)
    : ResNetBody(spec, mode, body_prefix, spec.frozen_norms ? Norms::frozen : Norms::batch), width_(spec.width) {}

void FeaturePyramid::require_size(const Bucket& batch, const std::string& model) const {
  const ImageSize size = image_size(batch);
  if (size.height % coarsest != 0 || size.width % coarsest != 0) {
    fail_usage("data.image_size or train.multi_scale: {} needs multiples of {} px, got {}", model, coarsest, size);
  }
}

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
    levels[i] = add_upsampled(fmt::format("top_down.{}", i), levels[i], levels[i + 1]);
  for (std::size_t i = 0; i < levels.size(); ++i)
    levels[i] = pyramid_convolution(fmt::format("layer_blocks.{}.0", i), levels[i], {outputs, 3});
  return levels;
}

ValueId FeaturePyramid::transposed_convolution(const std::string& name, ValueId x, std::int64_t outputs) {
  constexpr int kernel = 2;
  const Shape shape = graph_.desc(x).shape, filters{channels(x), kernel, kernel, outputs};
  const auto fan_out = static_cast<float>(channels(x) * kernel * kernel);  // as PyTorch counts it
  ModelVariable weight = make_variable(name + ".weight", filters, normal_start(std::sqrt(2 / fan_out)));
  weight.files.front().layout = WeightMapping::Layout::conv_krsc;
  weight.files.front().external_shape = Shape{channels(x), outputs, kernel, kernel};
  Conv2dGradInputAttributes attributes{{}, {shape[0], kernel * shape[1], kernel * shape[2], outputs}};
  attributes.conv.stride = kernel;
  const ValueId sums = add(name, std::make_shared<Conv2dGradInput>(attributes), {x, parameter(std::move(weight))});
  const ValueId bias = parameter(make_variable(name + ".bias", Shape{outputs}, constant_start(0)));
  return add(name + ".sum", std::make_shared<Binary>(BinaryFunction::add), {sums, bias});
}

/// x plus the nearest upsampling of `coarse`, which has half its height and width.
ValueId FeaturePyramid::add_upsampled(const std::string& name, ValueId x, ValueId coarse) {
  const Shape shape = graph_.desc(x).shape, half = graph_.desc(coarse).shape;
  const auto reshaped = [&](const char* part, ValueId value, const Shape& to) {
    return add(pyramid_prefix + name + part, std::make_shared<Reshape>(to), {value});
  };
  const ValueId fine = reshaped(".fine", x, {shape[0], half[1], 2, half[2], 2, shape[3]});
  const ValueId repeated = reshaped(".coarse", coarse, {shape[0], half[1], 1, half[2], 1, shape[3]});
  const ValueId sum = add(pyramid_prefix + name, std::make_shared<Binary>(BinaryFunction::add), {fine, repeated});
  return reshaped(".sum", sum, shape);
}

bool FeaturePyramid::name_body(WeightMapping& file) {
  if (!file.external.starts_with(body_prefix)) return false;
  file.other_names = {file.external.substr(std::string_view(body_prefix).size())};
  return true;
}

}  // namespace ptrain

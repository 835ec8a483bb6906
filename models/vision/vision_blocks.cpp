#include "models/vision/vision_blocks.h"

#include "core/base/errors.h"
#include "core/data/tensor_names.h"
#include "core/ops/elementwise.h"
#include "core/ops/image/adaptive_avg_pool2d.h"
#include "core/ops/image/avg_pool2d.h"
#include "core/ops/image/blur_pool2d.h"
#include "core/ops/image/conv2d.h"
#include "core/ops/image/global_average_pool.h"
#include "core/ops/image/max_pool2d.h"
#include "core/ops/image/normalize_image.h"
#include "core/ops/image/scale_channels.h"
#include "core/ops/normalization/batch_norm.h"
#include "core/ops/tensor/binary.h"
#include "core/ops/tensor/reshape.h"
#include "core/ops/tensor/transpose.h"
#include "core/ops/tensor/unary.h"

#include <cmath>

namespace ptrain {
namespace {

constexpr std::int64_t image_channels = 3;

/// Filters of `channels` inputs each here, `file_channels` of which are in files; the others are zero.
ModelVariable filters(const std::string& name, const ConvSpec& spec, std::int64_t channels,
                      std::int64_t file_channels) {
  const Shape shape{spec.channels, spec.kernel, spec.width.value_or(spec.kernel), channels};
  const float he = std::sqrt(2.0f / static_cast<float>(shape[0] * shape[1] * shape[2]));
  Initializer start = normal_start(spec.deviation.value_or(he));
  if (file_channels < channels) start.zero_from = file_channels;
  ModelVariable variable = make_variable(name, shape, start);
  variable.files.front().layout = WeightMapping::Layout::conv_krsc;
  variable.files.front().external_shape = Shape{shape[0], file_channels, shape[1], shape[2]};
  return variable;
}

Conv2dAttributes conv_attributes(const ConvSpec& spec) {
  Conv2dAttributes attrs;
  attrs.stride = spec.stride;
  attrs.padding = spec.padding.value_or(spec.kernel / 2 * spec.dilation);
  attrs.groups = spec.groups;
  attrs.dilation = spec.dilation;
  return attrs;
}

}  // namespace

std::int64_t multiple_of_eight(double channels) {
  const auto nearest = std::max<std::int64_t>(8, static_cast<std::int64_t>(channels + 4) / 8 * 8);
  return static_cast<double>(nearest) < 0.9 * channels ? nearest + 8 : nearest;
}

void VisionBlocks::require_multiples(const Bucket& batch, int step, const std::string& model) const {
  const ImageSize size = image_size(batch);
  if (size.height % step != 0 || size.width % step != 0) {
    fail_usage("data.image_size or train.multi_scale: {} needs multiples of {} px, got {}", model, step, size);
  }
}

ValueId VisionBlocks::inputs(const Bucket& batch, std::int64_t frames, std::int64_t stacked) {
  const ImageSize size = image_size(batch);
  const Shape shape{batch.rows * frames, size.height, size.width, image_channels};
  const ValueId pixels = graph_.add_input(tensor_names::images, {DType::u8, shape});
  add_rng();
  NormalizeImage::Attributes attrs;
  attrs.mean = image_spec_.pixels.mean;
  attrs.deviation = image_spec_.pixels.deviation;
  attrs.channels = static_cast<int>((stacked * image_channels + 3) / 4 * 4);
  images_stacked_ = stacked;
  images_ = add("normalize", std::make_shared<NormalizeImage>(attrs), {stacked > 1 ? stack(pixels, stacked) : pixels});
  return images_;
}

ValueId VisionBlocks::stack(ValueId pixels, std::int64_t stacked) {
  const Shape shape = graph_.desc(pixels).shape;
  const auto n = shape[0] / stacked, h = shape[1], w = shape[2], c = shape[3];
  ValueId x = add("stack.frames", std::make_shared<Reshape>(Shape{n, stacked, h, w, c}), {pixels});
  x = add("stack", std::make_shared<Transpose>(std::vector{0, 2, 3, 1, 4}), {x});
  return add("stack.channels", std::make_shared<Reshape>(Shape{n, h, w, stacked * c}), {x});
}

ValueId VisionBlocks::declare_filters(const std::string& name, ValueId x, const ConvSpec& spec) {
  const bool reads_images = x == images_;
  const std::int64_t in_files = reads_images ? images_stacked_ * image_channels : channels(x);
  ModelVariable weight = filters(name + ".weight", spec, channels(x) / spec.groups, in_files / spec.groups);
  if (reads_images) weight.files.front().stacked_images = images_stacked_;
  return parameter(std::move(weight));
}

ValueId VisionBlocks::convolution(const std::string& name, ValueId x, const ConvSpec& spec) {
  std::vector<ValueId> inputs{x, declare_filters(name, x, spec)};
  if (spec.bias == ConvBias::zero) {
    inputs.push_back(parameter(make_variable(name + ".bias", Shape{spec.channels}, constant_start(0))));
  }
  return add(name, std::make_shared<Conv2d>(conv_attributes(spec)), std::move(inputs));
}

SharedConvolution VisionBlocks::shared_convolution(const std::string& name, std::int64_t inputs, const ConvSpec& spec,
                                                   const Initializer& start, float bias) {
  ModelVariable weight = filters(name + ".weight", spec, inputs, inputs);
  weight.initializer = start;
  const ValueId declared = parameter(std::move(weight));
  return {declared, parameter(make_variable(name + ".bias", Shape{spec.channels}, constant_start(bias))), spec.kernel,
          spec.stride};
}

ValueId VisionBlocks::apply(const std::string& name, const SharedConvolution& convolution, ValueId x) {
  const ConvSpec spec{.channels = 0, .kernel = convolution.kernel, .stride = convolution.stride};
  return add(name, std::make_shared<Conv2d>(conv_attributes(spec)), {x, convolution.filters, convolution.bias});
}

ValueId VisionBlocks::conv_norm(const std::string& conv, const std::string& norm, ValueId x, const ConvSpec& spec,
                                NormStart start) {
  if (norms_ == Norms::frozen && training()) return frozen_conv_norm(conv, norm, x, spec, start);
  return batch_norm(norm, convolution(conv, x, spec), start);
}

ValueId VisionBlocks::frozen_conv_norm(const std::string& conv, const std::string& norm, ValueId x,
                                       const ConvSpec& spec, NormStart start) {
  const ValueId weight = declare_filters(conv, x, spec);
  const NormVariables v = norm_variables(norm, spec.channels, start);
  const auto combine = [&](const char* part, BinaryFunction function, ValueId a, ValueId b) {
    return add(norm + part, std::make_shared<Binary>(function), {a, b});
  };
  const auto shift = std::make_shared<Unary>(UnaryAttributes{UnaryFunction::affine, {1, norm_epsilon_}});
  const ValueId deviation = add(norm + ".deviation", std::make_shared<Unary>(UnaryAttributes{UnaryFunction::rsqrt}),
                                {add(norm + ".variance", shift, {v.variance})});
  const ValueId scale = combine(".scale", BinaryFunction::mul, v.scale, deviation);
  const ValueId offset =
      combine(".offset", BinaryFunction::sub, v.offset, combine(".shift", BinaryFunction::mul, v.mean, scale));
  const ValueId by_filter = add(norm + ".by_filter", std::make_shared<Reshape>(Shape{spec.channels, 1, 1, 1}), {scale});
  const ValueId scaled = combine(".filters", BinaryFunction::mul, weight, by_filter);
  return add(conv, std::make_shared<Conv2d>(conv_attributes(spec)), {x, scaled, offset});
}

ValueId VisionBlocks::conv_norm_relu(const std::string& conv, const std::string& norm, ValueId x,
                                     const ConvSpec& spec) {
  return relu(norm + ".relu", conv_norm(conv, norm, x, spec));
}

ValueId VisionBlocks::conv_norm_act(const std::string& name, ValueId x, const ConvSpec& spec, Activation activation) {
  return activate(activation, name + ".2", conv_norm(name + ".0", name + ".1", x, spec));
}

ValueId VisionBlocks::patches(const std::string& name, ValueId x, std::int64_t channels, int size) {
  return convolution(name, x, {channels, size, size, 1, ConvBias::zero, 0, layer_norm_networks_deviation});
}

ValueId VisionBlocks::layer_norm(const std::string& name, ValueId x, WeightMapping::Part part) {
  constexpr float epsilon = 1e-6f;
  const Shape width{channels(x)};
  ModelVariable scale = make_variable(name + ".weight", width, constant_start(1));
  ModelVariable offset = make_variable(name + ".bias", width, constant_start(0));
  scale.files.front().part = offset.files.front().part = part;
  return Blocks::layer_norm(name, x, epsilon, std::move(scale), std::move(offset));
}

ValueId VisionBlocks::dense(const std::string& name, ValueId x, std::int64_t outputs) {
  const Initializer start = normal_start(layer_norm_networks_deviation);
  return linear(name, x, make_variable(name + ".weight", Shape{outputs, channels(x)}, start),
                make_variable(name + ".bias", Shape{outputs}, constant_start(0)));
}

ValueId VisionBlocks::gelu_layers(const std::string& first, const std::string& second, ValueId x, std::int64_t hidden) {
  const ValueId y = activate(Activation::gelu_erf, first + ".gelu", dense(first, x, hidden));
  return dense(second, y, channels(x));
}

VisionBlocks::NormVariables VisionBlocks::norm_variables(const std::string& name, std::int64_t channels,
                                                         NormStart start) {
  return Blocks::norm_variables(name, channels, start == NormStart::one ? 1.0f : 0.0f, norms_);
}

ValueId VisionBlocks::batch_norm(const std::string& name, ValueId x, NormStart start) {
  BatchNorm::Attributes attrs;
  attrs.epsilon = norm_epsilon_;
  attrs.momentum = norm_momentum_;
  attrs.training = training() && norms_ == Norms::batch;
  const NormVariables v = norm_variables(name, channels(x), start);
  return add(name, std::make_shared<BatchNorm>(attrs), {x, v.scale, v.offset, v.mean, v.variance});
}

ValueId VisionBlocks::activate(Activation activation, const std::string& name, ValueId x) {
  return add(name, std::make_shared<ActivationOp>(activation), {x});
}

ValueId VisionBlocks::sum(const std::string& name, ValueId x, ValueId y) {
  return add(name, std::make_shared<Add>(), {x, y});
}

ValueId VisionBlocks::pointwise_linear(const std::string& name, ValueId x, std::int64_t outputs,
                                       std::optional<float> deviation) {
  const float he = std::sqrt(2.0f / static_cast<float>(outputs));
  ModelVariable weight =
      make_variable(name + ".weight", Shape{outputs, channels(x)}, normal_start(deviation.value_or(he)));
  weight.files.front().external_shape = Shape{outputs, channels(x), 1, 1};
  return linear(name, x, std::move(weight), make_variable(name + ".bias", Shape{outputs}, constant_start(0)));
}

ValueId VisionBlocks::squeeze_excite(const std::string& name, ValueId x, const SqueezeExcite& spec) {
  const ValueId gates = activate(spec.gate, name + ".gate", gate_logits(name, x, spec));
  return add(name, std::make_shared<ScaleChannels>(), {x, gates});
}

ValueId VisionBlocks::gate_logits(const std::string& name, ValueId x, const SqueezeExcite& spec) {
  const ValueId means = add(name + ".pool", std::make_shared<GlobalAveragePool>(), {x});
  const ValueId squeezed =
      activate(spec.activation, name + ".activation", pointwise_linear(name + spec.first, means, spec.channels));
  return pointwise_linear(name + spec.second, squeezed, channels(x));
}

ValueId VisionBlocks::add_relu(const std::string& name, ValueId x, ValueId shortcut) {
  return relu(name + ".relu", sum(name + ".add", x, shortcut));
}

ValueId VisionBlocks::max_pool(const std::string& name, ValueId x, int kernel, int stride, int padding) {
  return add(name, std::make_shared<MaxPool2d>(MaxPool2d::Attributes{kernel, stride, padding}), {x});
}

ValueId VisionBlocks::blur_pool(const std::string& name, ValueId x) {
  return add(name, std::make_shared<BlurPool2d>(BlurPool2dAttributes{}), {x});
}

ValueId VisionBlocks::avg_pool(const std::string& name, ValueId x, int size) {
  return add(name, std::make_shared<AvgPool2d>(AvgPool2dAttributes{size, size}), {x});
}

ValueId VisionBlocks::enlarge(const std::string& name, ValueId x, std::int64_t factor) {
  const Shape shape = graph_.desc(x).shape;
  const auto n = shape[0], h = shape[1], w = shape[2], c = shape[3];
  const ValueId split = add(name + ".split", std::make_shared<Reshape>(Shape{n, h, 1, w, 1, c}), {x});
  const ValueId repeated =
      add(name + ".repeated", std::make_shared<Expand>(Shape{n, h, factor, w, factor, c}), {split});
  return add(name, std::make_shared<Reshape>(Shape{n, factor * h, factor * w, c}), {repeated});
}

ValueId VisionBlocks::add_enlarged(const std::string& name, ValueId x, ValueId coarse) {
  const Shape shape = graph_.desc(x).shape, half = graph_.desc(coarse).shape;
  const auto reshaped = [&](const char* part, ValueId value, const Shape& to) {
    return add(name + part, std::make_shared<Reshape>(to), {value});
  };
  const ValueId fine = reshaped(".fine", x, {shape[0], half[1], 2, half[2], 2, shape[3]});
  const ValueId repeated = reshaped(".coarse", coarse, {shape[0], half[1], 1, half[2], 1, shape[3]});
  const ValueId sum = add(name, std::make_shared<Binary>(BinaryFunction::add), {fine, repeated});
  return reshaped(".sum", sum, shape);
}

ValueId VisionBlocks::transposed_convolution(const std::string& name, ValueId x, std::int64_t outputs) {
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

ValueId VisionBlocks::grid_linear(const std::string& pool, const std::string& linear, ValueId x, std::int64_t size,
                                  std::int64_t outputs, const Initializer& weight) {
  x = add(pool, std::make_shared<AdaptiveAvgPool2d>(AdaptiveAvgPool2dAttributes{size}), {x});
  ModelVariable matrix = make_variable(linear + ".weight", Shape{outputs, channels(x)}, weight);
  matrix.files.front().layout = WeightMapping::Layout::image_row;
  matrix.files.front().pixels = size * size;
  return Blocks::linear(linear, x, of_head(std::move(matrix)),
                        of_head(make_variable(linear + ".bias", Shape{outputs}, constant_start(0))));
}

ValueId VisionBlocks::pooled_classifier(const std::string& pool, const std::string& linear, ValueId x,
                                        std::int64_t frames) {
  const ValueId means = add(pool, std::make_shared<GlobalAveragePool>(GlobalAveragePoolAttributes{frames}), {x});
  const ValueId features = dropout(linear + ".dropout", means);
  const Initializer start = uniform_start(1.0f / std::sqrt(static_cast<float>(channels(features))));
  return classifier(linear, features, image_spec_.classes, start, start);
}

ValueId VisionBlocks::class_scores(const std::string& name, ValueId x, const Initializer& weight) {
  return classifier(name, x, image_spec_.classes, weight, constant_start(0));
}

}  // namespace ptrain

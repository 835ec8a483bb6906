// The ONNX translation (opset 17) of every op of a deployed graph.
#include "core/deploy/onnx/translation.h"

#include "core/base/errors.h"
#include "core/ops/image/adaptive_avg_pool2d.h"
#include "core/ops/image/avg_pool2d.h"
#include "core/ops/image/conv2d.h"
#include "core/ops/image/max_pool2d.h"
#include "core/ops/image/normalize_image.h"
#include "core/ops/image/patch_embedding.h"
#include "core/ops/image/resize_bilinear.h"
#include "core/ops/image/scale_channels.h"
#include "core/ops/linear.h"
#include "core/ops/math/adaptive_pool.h"
#include "core/ops/math/binary_math.h"
#include "core/ops/math/unary_math.h"
#include "core/ops/normalization/batch_norm.h"
#include "core/ops/normalization/dropout_add_layer_norm.h"
#include "core/ops/normalization/layer_norm.h"
#include "core/ops/normalization/layer_scale.h"
#include "core/ops/text/gather_token.h"

#include <algorithm>
#include <cmath>
#include <functional>
#include <numbers>

namespace ptrain {
namespace {

using Ints = std::vector<std::int64_t>;

/// Computes (pixel / 255 - mean) / deviation as one factor and one offset per channel, then moves channels first.
void translate_normalize_image(const Node& node, Translation& t) {
  const NormalizeImageAttributes& attrs = get_op<NormalizeImage>(node).attrs();
  std::array<float, 3> factor{}, offset{};
  for (std::size_t c = 0; c < 3; ++c) {
    factor[c] = 1.0f / (255.0f * attrs.deviation[c]);
    offset[c] = -attrs.mean[c] / attrs.deviation[c];
  }
  constexpr std::int64_t f32 = static_cast<std::int64_t>(OnnxType::f32);
  std::string x = t.to().add(node.name + ".cast", "Cast", {t.name(node.inputs[0])}, {{"to", f32}});
  x = t.to().add(node.name + ".scale", "Mul", {x, t.to().constant(node.name + ".factor", {3}, factor)});
  x = t.to().add(node.name + ".shift", "Add", {x, t.to().constant(node.name + ".offset", {3}, offset)});
  x = t.to().add(node.name, "Transpose", {x}, {{"perm", Ints{0, 3, 1, 2}}});
  t.name(node.outputs[0], attrs.format ? quantize(node.name + ".quantize", x, *attrs.format, t) : x);
  t.set_padding_channels(node.outputs[0], attrs.channels - 3);
}

void translate_conv2d(const Node& node, Translation& t) {
  const auto& op = get_op<Conv2d>(node);
  const ValueId x = node.inputs[Conv2d::x], w = node.inputs[Conv2d::w];
  const Shape& s = t.shape(w);
  const std::int64_t channels = s[3] - t.padding_channels(x);
  const std::vector<float> filters = channels_first(t.values(w), s, channels);
  OnnxGraph::Names inputs{t.name(x), t.to().constant(t.variable(w), {s[0], channels, s[1], s[2]}, filters)};
  if (is_given(node, Conv2d::bias)) inputs.push_back(t.name(node.inputs[Conv2d::bias]));
  std::string y = t.to().add(node.name, "Conv", inputs, convolution_attributes(op.attrs(), s));
  if (is_given(node, Conv2d::residual)) {
    y = t.to().add(node.name + ".residual", "Add", {y, t.name(node.inputs[Conv2d::residual])});
  }
  t.name(node.outputs[0], translate_activation(op.activation(), y, t));
}

void translate_batch_norm(const Node& node, Translation& t) {
  const BatchNormAttributes& attrs = get_op<BatchNorm>(node).attrs();
  OnnxGraph::Names inputs;
  for (int i = BatchNorm::x; i <= BatchNorm::running_var; ++i) {
    inputs.push_back(t.name(node.inputs[static_cast<std::size_t>(i)]));
  }
  std::string y = t.to().add(node.name, "BatchNormalization", inputs, {{"epsilon", attrs.epsilon}});
  if (is_given(node, BatchNorm::residual)) {
    y = t.to().add(node.name + ".residual", "Add", {y, t.name(node.inputs[BatchNorm::residual])});
  }
  t.name(node.outputs[0], translate_activation(attrs.activation, y, t));
}

void translate_max_pool2d(const Node& node, Translation& t) {
  const MaxPool2dAttributes& pool = get_op<MaxPool2d>(node).attrs();
  t.name(node.outputs[0], t.to().add(node.name, "MaxPool", {t.name(node.inputs[0])},
                                     {{"kernel_shape", Ints{pool.kernel, pool.kernel}},
                                      {"strides", Ints{pool.stride, pool.stride}},
                                      {"pads", Ints(4, pool.padding)}}));
}

void translate_avg_pool2d(const Node& node, Translation& t) {
  const AvgPool2dAttributes& pool = get_op<AvgPool2d>(node).attrs();
  t.name(node.outputs[0], t.to().add(node.name, "AveragePool", {t.name(node.inputs[0])},
                                     {{"kernel_shape", Ints{pool.kernel, pool.kernel}},
                                      {"strides", Ints{pool.stride, pool.stride}},
                                      {"ceil_mode", std::int64_t{1}}}));
}

/// Pads by reflection, then applies the filter as a depthwise convolution.
void translate_blur_pool2d(const Node& node, Translation& t) {
  const Shape& images = t.shape(node.inputs[0]);
  const std::int64_t channels = images[3];
  const std::string border = images[1] == 1 && images[2] == 1 ? "edge" : "reflect";  // a single pixel has no reflection
  constexpr std::array<float, 9> filter{1, 2, 1, 2, 4, 2, 1, 2, 1};
  std::vector<float> filters;
  for (std::int64_t c = 0; c < channels; ++c) {
    std::transform(filter.begin(), filter.end(), std::back_inserter(filters), [](float part) { return part / 16; });
  }
  const std::string pads = t.to().constant(node.name + ".pads", {8}, std::vector<std::int64_t>{0, 0, 1, 1, 0, 0, 1, 1});
  const std::string x = t.to().add(node.name + ".mirrored", "Pad", {t.name(node.inputs[0]), pads}, {{"mode", border}});
  const std::string weight = t.to().constant(node.name + ".filter", {channels, 1, 3, 3}, filters);
  t.name(node.outputs[0], t.to().add(node.name, "Conv", {x, weight},
                                     {{"group", channels}, {"strides", Ints{2, 2}}, {"kernel_shape", Ints{3, 3}}}));
}

void translate_global_average_pool(const Node& node, Translation& t) {
  const std::string pooled = t.to().add(node.name + ".pool", "GlobalAveragePool", {t.name(node.inputs[0])});
  t.name(node.outputs[0], t.to().add(node.name, "Flatten", {pooled}, {{"axis", std::int64_t{1}}}));
}

/// Averaging over windows of an axis as a matrix [size, pixels].
std::vector<float> make_window_means(std::int64_t size, std::int64_t pixels) {
  std::vector<float> matrix(static_cast<std::size_t>(size * pixels));
  for (std::int64_t i = 0; i < size; ++i) {
    const AdaptiveWindow window = adaptive_window(i, size, pixels);
    const auto row = matrix.begin() + i * pixels;
    std::fill(row + window.begin, row + window.end, 1.0f / static_cast<float>(window.end - window.begin));
  }
  return matrix;
}

/// ONNX has no adaptive pooling: averages down and across, then flattens each image with channels innermost.
void translate_adaptive_avg_pool2d(const Node& node, Translation& t) {
  const std::int64_t size = get_op<AdaptiveAvgPool2d>(node).attrs().size;
  const Shape& s = t.shape(node.inputs[0]);
  std::string x = t.name(node.inputs[0]);
  if (s[1] != size) {
    const std::string down = t.to().constant(node.name + ".down", {size, s[1]}, make_window_means(size, s[1]));
    x = t.to().add(node.name + ".rows", "MatMul", {down, x});
  }
  if (s[2] != size) {
    const std::string means = t.to().constant(node.name + ".across", {size, s[2]}, make_window_means(size, s[2]));
    const std::string across = t.to().add(node.name + ".transposed", "Transpose", {means}, {{"perm", Ints{1, 0}}});
    x = t.to().add(node.name + ".columns", "MatMul", {x, across});
  }
  x = t.to().add(node.name + ".channels_last", "Transpose", {x}, {{"perm", Ints{0, 2, 3, 1}}});
  t.name(node.outputs[0], t.to().add(node.name, "Flatten", {x}, {{"axis", std::int64_t{1}}}));
}

void translate_linear(const Node& node, Translation& t) {
  if (is_part_of_recurrence(node, t.from())) return;
  const ValueId w = node.inputs[Linear::w];
  const std::string transposed =
      t.to().add(node.name + ".transposed", "Transpose", {t.name(w)}, {{"perm", Ints{1, 0}}});
  std::string y = t.to().add(node.name, "MatMul", {add_in_graph_order(node, node.inputs[Linear::x], t), transposed});
  if (is_given(node, Linear::bias)) y = t.to().add(node.name + ".bias", "Add", {y, t.name(node.inputs[Linear::bias])});
  set_in_graph_order(node, translate_activation(get_op<Linear>(node).attrs().activation, y, t), t);
}

std::string add_normalization(const Node& node, const std::string& x, ValueId gamma, ValueId beta, float epsilon,
                              Translation& t) {
  return t.to().add(node.name, "LayerNormalization", {x, t.name(gamma), t.name(beta)},
                    {{"axis", std::int64_t{-1}}, {"epsilon", epsilon}});
}

void translate_layer_norm(const Node& node, Translation& t) {
  const std::string x = add_in_graph_order(node, node.inputs[LayerNorm::x], t);
  set_in_graph_order(node,
                     add_normalization(node, x, node.inputs[LayerNorm::gamma], node.inputs[LayerNorm::beta],
                                       get_op<LayerNorm>(node).epsilon(), t),
                     t);
}

void translate_layer_scale(const Node& node, Translation& t) {
  const ValueId gamma = node.inputs[LayerScale::gamma];
  Ints shape{t.shape(gamma)[0]};
  if (t.shape(node.outputs[0]).rank() == 4) shape.insert(shape.end(), {1, 1});  // channels first
  const std::string factors = t.to().constant(t.variable(gamma), shape, t.values(gamma));
  t.name(node.outputs[0], t.to().add(node.name, "Mul", {t.name(node.inputs[LayerScale::x]), factors}));
}

/// Prepends a row of zeros to the patches and adds an offset to each row; the first row's contains the class token.
void translate_patch_embedding(const Node& node, Translation& t) {
  const Shape& s = t.shape(node.inputs[PatchEmbedding::x]);
  const std::string form = t.to().constant(node.name + ".form", {3}, Ints{0, s[3], s[1] * s[2]});
  std::string x = t.to().add(node.name + ".patches", "Reshape", {t.name(node.inputs[PatchEmbedding::x]), form});
  x = t.to().add(node.name + ".rows", "Transpose", {x}, {{"perm", Ints{0, 2, 1}}});
  x = t.to().add(node.name + ".padded", "Pad",
                 {x, t.to().constant(node.name + ".before", {6}, Ints{0, 1, 0, 0, 0, 0})});
  const std::vector<float> token = t.values(node.inputs[PatchEmbedding::class_token]);
  std::vector<float> rows = t.values(node.inputs[PatchEmbedding::position]);
  std::transform(token.begin(), token.end(), rows.begin(), rows.begin(), std::plus<>());
  const std::string offsets =
      t.to().constant(t.variable(node.inputs[PatchEmbedding::position]), {s[1] * s[2] + 1, s[3]}, rows);
  t.name(node.outputs[PatchEmbedding::tokens], t.to().add(node.name, "Add", {x, offsets}));
}

void translate_dropout_add_layer_norm(const Node& node, Translation& t) {
  using Op = DropoutAddLayerNorm;
  const std::string sum =
      t.to().add(node.name + ".sum", "Add", {t.name(node.inputs[Op::x]), t.name(node.inputs[Op::residual])});
  set_in_graph_order(
      node,
      add_normalization(node, add_in_graph_order(node, sum, t.shape(node.outputs[0]), t), node.inputs[Op::gamma],
                        node.inputs[Op::beta], get_op<Op>(node).attrs().epsilon, t),
      t);
}

/// Of packed texts ONNX has every token, so that there are logits after each, as in Optimum's exports.
void translate_gather_token(const Node& node, Translation& t) {
  if (is_given(node, GatherToken::offsets)) return t.name(node.outputs[0], t.name(node.inputs[GatherToken::x]));
  const std::int64_t index = get_op<GatherToken>(node).index();
  const std::string where = t.to().constant(node.name + ".index", {}, std::span(&index, 1));
  t.name(node.outputs[0],
         t.to().add(node.name, "Gather", {t.name(node.inputs[GatherToken::x]), where}, {{"axis", std::int64_t{1}}}));
}

void translate_activation_op(const Node& node, Translation& t) {
  t.name(node.outputs[0], translate_activation(get_op<ActivationOp>(node).activation(), t.name(node.inputs[0]), t));
}

/// The gradient of a convolution by its input is a transposed convolution.
void translate_transposed_convolution(const Node& node, Translation& t) {
  using Op = Conv2dGradInput;
  const Conv2dGradInputAttributes& attrs = get_op<Op>(node).attrs();
  const ValueId w = node.inputs[Op::w];
  const Shape &s = t.shape(w), &small = t.shape(node.inputs[Op::dy]), &large = t.shape(node.outputs[0]);
  const std::string filters =
      t.to().constant(t.variable(w), {s[0], s[3], s[1], s[2]}, channels_first(t.values(w), s, s[3]));
  Ints more;  // pixels that the stride leaves open
  for (const int axis : {1, 2}) {
    const std::int64_t reach = std::int64_t{attrs.conv.dilation} * (s[axis] - 1) + 1 - 2 * attrs.conv.padding;
    more.push_back(large[axis] - (small[axis] - 1) * attrs.conv.stride - reach);
  }
  std::vector<OnnxAttribute> attributes = convolution_attributes(attrs.conv, s);
  attributes.push_back({"output_padding", more});
  t.name(node.outputs[0], t.to().add(node.name, "ConvTranspose", {t.name(node.inputs[Op::dy]), filters}, attributes));
}

void translate_scale_channels(const Node& node, Translation& t) {
  constexpr std::array<std::int64_t, 2> height_and_width{2, 3};
  const std::string axes = t.to().constant(node.name + ".axes", {2}, std::span<const std::int64_t>(height_and_width));
  const std::string factors =
      t.to().add(node.name + ".factors", "Unsqueeze", {t.name(node.inputs[ScaleChannels::factors]), axes});
  t.name(node.outputs[0], t.to().add(node.name, "Mul", {t.name(node.inputs[ScaleChannels::x]), factors}));
}

/// The batch's size is the model's input's, so that the new one is put together from it.
void translate_resize_bilinear(const Node& node, Translation& t) {
  const ResizeBilinearAttributes& resize = get_op<ResizeBilinear>(node).attrs();
  const std::string& x = t.name(node.inputs[0]);
  const std::string kept = t.to().add(node.name + ".batch_and_channels", "Shape", {x},
                                      {{"start", std::int64_t{0}}, {"end", std::int64_t{2}}});
  const std::string size = t.to().constant(node.name + ".size", {2}, Ints{resize.height, resize.width});
  const std::string sizes = t.to().add(node.name + ".sizes", "Concat", {kept, size}, {{"axis", std::int64_t{0}}});
  const std::string coordinates = resize.corners == Corners::aligned ? "align_corners" : "half_pixel";
  const OnnxGraph::Names inputs{x, "", "", sizes};  // neither a region nor scales
  t.name(node.outputs[0],
         t.to().add(node.name, "Resize", inputs,
                    {{"mode", std::string("linear")}, {"coordinate_transformation_mode", coordinates}}));
}

struct Row {
  std::string_view type;
  TranslateNode translate;
};

constexpr Row translations[] = {{"normalize_image", translate_normalize_image},
                                {"conv2d", translate_conv2d},
                                {"batch_norm", translate_batch_norm},
                                {"max_pool2d", translate_max_pool2d},
                                {"avg_pool2d", translate_avg_pool2d},
                                {"blur_pool2d", translate_blur_pool2d},
                                {"adaptive_avg_pool2d", translate_adaptive_avg_pool2d},
                                {"global_average_pool", translate_global_average_pool},
                                {"scale_channels", translate_scale_channels},
                                {"linear", translate_linear},
                                {"layer_norm", translate_layer_norm},
                                {"layer_scale", translate_layer_scale},
                                {"patch_embedding", translate_patch_embedding},
                                {"dropout_add_layer_norm", translate_dropout_add_layer_norm},
                                {"gather_token", translate_gather_token},
                                {"bert_embedding", translate_embedding},
                                {"embedding", translate_table_lookup},
                                {"rotary_table", translate_rotary_table},
                                {"rotary_embedding", translate_rotary_embedding},
                                {"rms_norm", translate_rms_norm},
                                {"swiglu", translate_swiglu},
                                {"append_cache", translate_append_cache},
                                {"cached_attention", translate_cached_attention},
                                {"attention", translate_attention},
                                {"scale", translate_scale},
                                {"add", translate_add},
                                {"pointwise_chain", translate_pointwise_chain},
                                {"slice", translate_slice},
                                {"transpose", translate_transpose},
                                {"reduce_sum", translate_reduce},
                                {"reduce_mean", translate_reduce},
                                {"reduce_max", translate_reduce},
                                {"batched_matmul", translate_batched_matmul},
                                {"recurrent", translate_recurrent},
                                {"reshape", translate_reshape},
                                {"concat", translate_concat},
                                {"detect_objects", translate_detect_objects},
                                {"detect_regions", translate_detect_regions},
                                {"roi_align", translate_roi_align},
                                {"gather", translate_gather},
                                {"conv2d_grad_input", translate_transposed_convolution},
                                {"box_distances", translate_box_distances},
                                {"resize_bilinear", translate_resize_bilinear},
                                {"expand", translate_expand},
                                {"quantize", translate_quantize},
                                {"dequantize", translate_dequantize},
                                {"quantized_conv2d", translate_quantized_conv2d},
                                {"quantized_linear", translate_quantized_linear},
                                {"relu", translate_activation_op},
                                {"relu6", translate_activation_op},
                                {"hard_sigmoid", translate_activation_op},
                                {"hard_swish", translate_activation_op},
                                {"sigmoid", translate_activation_op},
                                {"silu", translate_activation_op},
                                {"gelu", translate_activation_op},
                                {"tanh", translate_activation_op}};

}  // namespace

TranslateNode find_translation(std::string_view op_type) {
  for (const Row& row : translations) {
    if (row.type == op_type) return row.translate;
  }
  if (std::ranges::count(unary_functions, op_type, &UnaryTraits::type) > 0) return translate_unary;
  if (std::ranges::count(binary_functions, op_type, &BinaryTraits::type) > 0) return translate_binary;
  return nullptr;
}

const std::string& Translation::name(ValueId value) {
  const auto found = names_.find(value);
  if (found != names_.end()) return found->second;
  const std::string name = to_.constant(variable(value), shape(value).dims(), values(value));
  return names_[value] = name;
}

std::vector<std::int8_t> Translation::integers(ValueId parameter) const {
  std::vector<std::int8_t> integers(graph_.desc(parameter).bytes());
  variables_.read(variable(parameter), integers.data(), integers.size());
  return integers;
}

std::vector<OnnxAttribute> convolution_attributes(const Conv2dAttributes& conv, const Shape& filters) {
  return {{"kernel_shape", Ints{filters[1], filters[2]}},
          {"strides", Ints{conv.stride, conv.stride}},
          {"pads", Ints(4, conv.padding)},
          {"dilations", Ints{conv.dilation, conv.dilation}},
          {"group", std::int64_t{conv.groups}}};
}

std::int64_t Translation::padding_channels(ValueId value) const {
  const auto found = padding_channels_.find(value);
  return found == padding_channels_.end() ? 0 : found->second;
}

/// gelu_erf: x (1 + erf(x / sqrt 2)) / 2; gelu_tanh: x (1 + tanh(sqrt(2 / pi) (x + 0.044715 x^3))) / 2.
std::string translate_activation(Activation activation, const std::string& x, Translation& t) {
  const auto apply = [&](const char* type, const OnnxGraph::Names& inputs) {
    return t.to().add(x + ".act", type, inputs);
  };
  const auto number = [&](double value) { return t.to().scalar(x + ".number", static_cast<float>(value)); };
  const auto half_of_one_plus = [&](const std::string& inner) {
    return apply("Mul", {apply("Mul", {x, number(0.5)}), apply("Add", {inner, number(1)})});
  };
  switch (activation) {
    case Activation::none:
      return x;
    case Activation::relu:
      return apply("Relu", {x});
    case Activation::relu6:
      return apply("Clip", {x, number(0), number(6)});
    case Activation::hard_sigmoid:
      return t.to().add(x + ".act", "HardSigmoid", {x}, {{"alpha", 1.0f / 6}, {"beta", 0.5f}});
    case Activation::hard_swish:
      return apply("HardSwish", {x});
    case Activation::sigmoid:
      return apply("Sigmoid", {x});
    case Activation::silu:
      return apply("Mul", {x, apply("Sigmoid", {x})});
    case Activation::tanh:
      return apply("Tanh", {x});
    case Activation::gelu_erf:
      return half_of_one_plus(apply("Erf", {apply("Mul", {x, number(1 / std::numbers::sqrt2)})}));
    case Activation::gelu_tanh: {
      const std::string cube = apply("Mul", {apply("Mul", {x, x}), x});
      const std::string sum = apply("Add", {x, apply("Mul", {cube, number(0.044715)})});
      return half_of_one_plus(apply("Tanh", {apply("Mul", {sum, number(std::sqrt(2 / std::numbers::pi))})}));
    }
  }
  return x;
}

}  // namespace ptrain

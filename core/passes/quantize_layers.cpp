#include "core/passes/quantize_layers.h"

#include "core/base/errors.h"
#include "core/ops/image/max_pool2d.h"
#include "core/ops/image/normalize_image.h"
#include "core/ops/quantization/quantize.h"
#include "core/ops/quantization/quantized_conv2d.h"
#include "core/ops/quantization/quantized_linear.h"
#include "core/passes/rewriter.h"

#include <algorithm>
#include <cmath>

namespace ptrain {
namespace {

constexpr std::size_t data_input = 0, weights_input = 1, bias_input = 2;  // inputs of both kinds of layer
static_assert(Conv2d::x == data_input && Conv2d::w == weights_input && Conv2d::bias == bias_input);
static_assert(Linear::x == data_input && Linear::w == weights_input && Linear::bias == bias_input);

ValueId find_residual(const Node& node) {
  return node.op->type() == "conv2d" && node.inputs.size() > Conv2d::residual ? node.inputs[Conv2d::residual]
                                                                              : no_value;
}

class LayerQuantizer {
 public:
  LayerQuantizer(const Graph& graph, const QuantizationScheme& scheme)
      : graph_(graph),
        scheme_(scheme),
        rewriter_(graph),
        in_int8_(graph.values().size(), no_value),
        wanted_(find_wanted()) {}

  Graph run() {
    for (const std::string& name : scheme_.layers) require_known(name);
    for (const Node& node : graph_.nodes()) {
      if (is_layer(node)) {
        emit_layer(node);
      } else if (is_int8_pool(node)) {
        in_int8_[index(node.outputs[0])] = add(node.name, node.op, {in_int8_[index(node.inputs[0])]});
      } else if (node.op->type() == "normalize_image" && is_read_by_layers_alone(node.outputs[0])) {
        emit_pixels(node);
      } else {
        for (const ValueId id : node.inputs) make_real(id);
        rewriter_.copy(node);
      }
    }
    for (const auto& [name, id] : graph_.outputs()) make_real(id);
    return rewriter_.finish();
  }

 private:
  static std::size_t index(ValueId id) { return static_cast<std::size_t>(id); }
  bool is_layer(const Node& node) const { return scheme_.layers.contains(node.name); }
  bool is_int8_pool(const Node& node) const {
    return node.op->type() == "max_pool2d" && wanted_[index(node.outputs[0])] &&
           in_int8_[index(node.inputs[0])] != no_value;
  }

  /// As data that they convert to 8 bits.
  bool is_read_by_layers_alone(ValueId id) const {
    for (const Node& node : graph_.nodes()) {
      for (std::size_t i = 0; i < node.inputs.size(); ++i) {
        if (node.inputs[i] == id && !(is_layer(node) && i == data_input)) return false;
      }
    }
    return std::ranges::none_of(graph_.outputs(), [&](const auto& output) { return output.second == id; });
  }

  void require_known(const std::string& name) const {
    const bool known = std::any_of(graph_.nodes().begin(), graph_.nodes().end(),
                                   [&](const Node& node) { return node.name == name && has_int8_form(graph_, node); });
    if (!known) fail("{}: layers: the model has no layer {} to compute in 8 bits", scheme_.source, name);
  }

  /// By value: whether an 8-bit layer reads it in 8 bits, directly or through max poolings.
  std::vector<bool> find_wanted() const {
    std::vector<bool> wanted(graph_.values().size(), false);
    for (auto node = graph_.nodes().rbegin(); node != graph_.nodes().rend(); ++node) {
      if (is_layer(*node)) {
        wanted[index(node->inputs[data_input])] = true;
        if (const ValueId residual = find_residual(*node); residual != no_value) wanted[index(residual)] = true;
      } else if (node->op->type() == "max_pool2d" && wanted[index(node->outputs[0])]) {
        wanted[index(node->inputs[0])] = true;
      }
    }
    return wanted;
  }

  const QuantizedFormat& find_format(ValueId id) const {
    const std::string& name = graph_.value(format_owner(graph_, id)).name;
    const auto found = scheme_.formats.find(name);
    if (found == scheme_.formats.end()) fail("{}: formats: {} has no scale", scheme_.source, name);
    const QuantizedFormat& format = found->second;
    if (!std::isfinite(format.scale) || !(format.scale > 0)) {
      fail("{}: formats: {}: expected a finite scale above 0, got {}", scheme_.source, name, format.scale);
    }
    return format;
  }

  ValueId add(const std::string& name, OpPtr op, std::vector<ValueId> inputs) {
    return rewriter_.graph().add(name, std::move(op), std::move(inputs));
  }

  ValueId as_int8(ValueId id) {
    ValueId& made = in_int8_[index(id)];
    if (made == no_value) {
      const std::string& name = graph_.value(id).name;
      made = add(name + ".quantize", std::make_shared<Quantize>(find_format(id)), {rewriter_.mapped(id)});
    }
    return made;
  }

  /// Makes rewriter_ map `id`, which may exist in 8 bits only, to a real value.
  void make_real(ValueId id) {
    if (id == no_value || rewriter_.mapped(id) != no_value || in_int8_[index(id)] == no_value) return;
    const std::string& name = graph_.value(id).name;
    rewriter_.map(id, add(name + ".dequantize", std::make_shared<Dequantize>(find_format(id)), {in_int8_[index(id)]}));
  }

  void emit_pixels(const Node& node) {
    NormalizeImage::Attributes attributes = static_cast<const NormalizeImage&>(*node.op).attrs();
    attributes.format = find_format(node.outputs[0]);
    attributes.dtype = attributes.format->dtype;
    in_int8_[index(node.outputs[0])] =
        add(node.name, std::make_shared<NormalizeImage>(attributes), rewriter_.mapped(node.inputs));
  }

  void emit_layer(const Node& node) {
    const ValueId x = node.inputs[data_input], residual = find_residual(node), y = node.outputs[0];
    std::optional<QuantizedFormat> format;
    if (wanted_[index(y)] || residual != no_value) format = find_format(y);
    std::vector<ValueId> inputs{as_int8(x)};
    const Value& w = graph_.value(node.inputs[weights_input]);
    inputs.push_back(parameter(quantized_name(w.name), {DType::s8, w.desc.shape}));
    inputs.push_back(parameter(weight_scale_name(w.name), {DType::f32, Shape{w.desc.shape[0]}}));
    inputs.push_back(node.inputs.size() > bias_input ? rewriter_.mapped(node.inputs[bias_input]) : no_value);
    if (residual != no_value) inputs.push_back(as_int8(residual));
    const ValueId made = add(node.name, make_op(node, format), std::move(inputs));
    if (format) {
      in_int8_[index(y)] = made;
    } else {
      rewriter_.map(y, made);
    }
  }

  /// A parameter that several layers may share.
  ValueId parameter(const std::string& name, TensorDesc desc) {
    const ValueId known = rewriter_.graph().find_value(name);
    return known != no_value ? known : rewriter_.graph().add_value(name, std::move(desc), Storage::parameter);
  }

  OpPtr make_op(const Node& node, const std::optional<QuantizedFormat>& y) const {
    const QuantizedFormat& x = find_format(node.inputs[data_input]);
    if (node.op->type() == "linear") {
      const Activation activation = static_cast<const Linear&>(*node.op).attrs().activation;
      return std::make_shared<QuantizedLinear>(QuantizedLinearAttributes{activation, x, y});
    }
    const auto& conv = static_cast<const Conv2d&>(*node.op);
    QuantizedConv2dAttributes attributes{conv.attrs(), conv.activation(), x, {}, y};
    if (const ValueId residual = find_residual(node); residual != no_value) attributes.residual = find_format(residual);
    return std::make_shared<QuantizedConv2d>(attributes);
  }

  const Graph& graph_;
  const QuantizationScheme& scheme_;
  Rewriter rewriter_;
  std::vector<ValueId> in_int8_;  // by value of the old graph
  std::vector<bool> wanted_;
};

}  // namespace

bool has_int8_form(const Graph& graph, const Node& node) {
  const bool linear = node.op->type() == "linear" && !static_cast<const Linear&>(*node.op).attrs().save_pre;
  if (!linear && node.op->type() != "conv2d") return false;
  return graph.value(node.inputs[weights_input]).storage == Storage::parameter;
}

ValueId format_owner(const Graph& graph, ValueId id) {
  for (NodeId made = graph.value(id).producer; made >= 0 && graph.node(made).op->type() == "max_pool2d";
       made = graph.value(id).producer) {
    id = graph.node(made).inputs[0];
  }
  return id;
}

std::set<std::string> values_to_calibrate(const Graph& graph, const std::set<std::string>& layers) {
  std::set<std::string> names;
  const auto add = [&](ValueId id) { names.insert(graph.value(format_owner(graph, id)).name); };
  for (const Node& node : graph.nodes()) {
    if (!layers.contains(node.name)) continue;
    add(node.inputs[data_input]);
    if (find_residual(node) == no_value) continue;
    add(find_residual(node));
    add(node.outputs[0]);
  }
  return names;
}

Graph quantize_layers(const Graph& graph, const QuantizationScheme& scheme) {
  return LayerQuantizer(graph, scheme).run();
}

std::string quantized_name(const std::string& weights_name) { return weights_name + "@s8"; }
std::string weight_scale_name(const std::string& weights_name) { return weights_name + "@s8.scale"; }

QuantizedWeights quantize_weights(std::span<const float> values, std::int64_t channels) {
  const std::size_t each = values.size() / static_cast<std::size_t>(channels);
  invariant(each * static_cast<std::size_t>(channels) == values.size(), "weights do not fit their channels");
  constexpr float most = 127;
  QuantizedWeights quantized;
  for (std::size_t begin = 0; begin < values.size(); begin += each) {
    const auto channel = values.subspan(begin, each);
    float largest = 0;
    for (const float value : channel) largest = std::max(largest, std::abs(value));
    const float scale = largest > 0 ? largest / most : 1;
    quantized.scales.push_back(scale);
    for (const float value : channel) {
      quantized.values.push_back(static_cast<std::int8_t>(std::clamp(std::nearbyint(value / scale), -most, most)));
    }
  }
  return quantized;
}

void keep_from_saturating(QuantizedWeights& quantized) {
  constexpr std::int8_t most = 64;
  const bool fits = std::all_of(quantized.values.begin(), quantized.values.end(),
                                [](std::int8_t value) { return value >= -most && value <= most; });
  if (fits) return;
  for (std::int8_t& value : quantized.values) {
    value = static_cast<std::int8_t>(std::nearbyint(static_cast<float>(value) / 2));
  }
  for (float& scale : quantized.scales) scale *= 2;
}

}  // namespace ptrain

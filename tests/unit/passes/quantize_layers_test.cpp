// Graphs with 8-bit layers: where integers flow on, and where real values are made of them.
#include "core/passes/quantize_layers.h"

#include "core/data/tensor_names.h"
#include "core/model/model.h"
#include "core/ops/quantization/quantized_conv2d.h"
#include "core/passes/keep_outputs.h"
#include "tests/error_message.h"
#include "tests/unit/passes/example_models.h"

#include <gtest/gtest.h>

namespace ptrain {
namespace {

using namespace testing;

Graph deployed(const Graph& graph) { return build_deployed_graph(graph, {tensor_names::logits}, {}).graph; }

std::set<std::string> all_layers(const Graph& graph) {
  std::set<std::string> layers;
  for (const Node& node : graph.nodes()) {
    if (has_int8_form(graph, node)) layers.insert(node.name);
  }
  return layers;
}

/// All of `layers`, every value with a scale of its own.
QuantizationScheme get_scheme(const Graph& graph, const std::set<std::string>& layers) {
  QuantizationScheme scheme{layers, {}, "scheme"};
  float scale = 0.5f;
  for (const std::string& name : values_to_calibrate(graph, layers)) scheme.formats[name] = {DType::u8, scale += 0.01f};
  return scheme;
}

Graph quantized(const Graph& graph, const QuantizationScheme& scheme) {
  Graph result = keep_outputs(quantize_layers(graph, scheme), {tensor_names::logits});
  verify(result);
  return result;
}

TEST(QuantizeLayers, OfAResNetExchangeIntegersToTheLastPool) {
  const Graph graph = deployed(resnet_graph(50, 64, Mode::evaluation));
  const Graph result = quantized(graph, get_scheme(graph, all_layers(graph)));
  const std::map<std::string, int> expected{{"normalize_image", 1}, {"quantize", 1},   {"quantized_conv2d", 53},
                                            {"max_pool2d", 1},      {"dequantize", 1}, {"global_average_pool", 1},
                                            {"quantized_linear", 1}};
  EXPECT_EQ(node_types(result), expected);
  for (const Node& node : result.nodes()) {
    if (node.op->type() != "quantized_conv2d") continue;
    const auto& attrs = op_as<QuantizedConv2d>(node).attrs();
    EXPECT_TRUE(attrs.y) << node.name;
    EXPECT_EQ(attrs.residual.has_value(), node.inputs.size() > QuantizedConv2d::residual) << node.name;
  }
}

TEST(QuantizeLayers, OfBertExchangeIntegersWithinAFeedForward) {
  const Graph graph = deployed(bert_graph(0.1f, Mode::evaluation));
  const std::map<std::string, int> types = node_types(quantized(graph, get_scheme(graph, all_layers(graph))));
  EXPECT_EQ(types.at("quantized_linear"), 10);
  EXPECT_EQ(types.at("quantize"), 7) << "three for each block, one after the gathered token";
  EXPECT_FALSE(types.contains("dequantize"));
  EXPECT_EQ(types.at("attention"), 2);
}

TEST(QuantizeLayers, AReaderKnowsTheFormatThatItsInputWasMadeIn) {
  const Graph graph = deployed(resnet_graph(18, 32, Mode::evaluation));
  const Graph result = quantized(graph, get_scheme(graph, all_layers(graph)));
  int checked = 0;
  for (const Node& node : result.nodes()) {
    if (node.op->type() != "quantized_conv2d") continue;
    for (const int input : {QuantizedConv2d::x, QuantizedConv2d::residual}) {
      if (node.inputs.size() <= static_cast<std::size_t>(input)) continue;
      const NodeId made = result.value(node.inputs[static_cast<std::size_t>(input)]).producer;
      if (result.node(made).op->type() != "quantized_conv2d") continue;
      const auto& attrs = op_as<QuantizedConv2d>(node).attrs();
      const QuantizedFormat& read = input == QuantizedConv2d::x ? attrs.x : *attrs.residual;
      EXPECT_EQ(read, *op_as<QuantizedConv2d>(result.node(made)).attrs().y) << node.name;
      ++checked;
    }
  }
  EXPECT_GT(checked, 20);
}

TEST(QuantizeLayers, ALayerThatIsLeftReadsAndMakesRealValues) {
  const Graph graph = deployed(resnet_graph(50, 64, Mode::evaluation));
  for (const std::string& left : all_layers(graph)) {
    std::set<std::string> layers = all_layers(graph);
    layers.erase(left);
    const Graph result = quantized(graph, get_scheme(graph, layers));
    int same = 0;
    for (const Node& node : result.nodes())
      same += node.name == left && !node.op->type().starts_with("quantized") ? 1 : 0;
    EXPECT_EQ(same, 1) << left;
  }
}

TEST(QuantizeLayers, WeightsAreLeftOutOnlyWhereNothingReadsThem) {
  const Graph graph = deployed(bert_graph(0.1f, Mode::evaluation));
  const std::string layer = *all_layers(graph).begin();
  const Graph result = quantized(graph, get_scheme(graph, {layer}));
  int integers = 0, real = 0;
  for (const Value& value : result.values()) {
    if (value.storage != Storage::parameter) continue;
    integers += value.desc.dtype == DType::s8 ? 1 : 0;
    real += result.find_value(quantized_name(value.name)) != no_value ? 1 : 0;
  }
  EXPECT_EQ(integers, 1);
  EXPECT_EQ(real, 0);
}

TEST(QuantizeLayers, WhatIsMissingOrNoFormatIsNamed) {
  const Graph graph = deployed(resnet_graph(18, 32, Mode::evaluation));
  QuantizationScheme scheme = get_scheme(graph, all_layers(graph));
  const auto message = [&](const QuantizationScheme& of) { return get_error([&] { quantize_layers(graph, of); }); };
  QuantizationScheme unknown = scheme;
  unknown.layers.insert("layer9");
  EXPECT_EQ(message(unknown), "scheme: layers: the model has no layer layer9 to compute in 8 bits");
  const std::string name = scheme.formats.begin()->first;
  QuantizationScheme missing = scheme;
  missing.formats.erase(name);
  EXPECT_EQ(message(missing), "scheme: formats: " + name + " has no scale");
  for (const float bad : {0.0f, -1.0f, NAN, INFINITY}) {
    QuantizationScheme wrong = scheme;
    wrong.formats[name].scale = bad;
    EXPECT_EQ(message(wrong).find("scheme: formats: " + name + ": expected a finite scale above 0"), 0u);
  }
}

TEST(QuantizeWeights, ReachTheLargestOfEachChannel) {
  const std::vector<float> weights{0.5f, -1.0f, 0.25f, 0, 0, 0, 12.7f, 0.1f, -0.04f};
  const QuantizedWeights quantized_weights = quantize_weights(weights, 3);
  EXPECT_EQ(quantized_weights.values, (std::vector<std::int8_t>{64, -127, 32, 0, 0, 0, 127, 1, 0}));
  EXPECT_FLOAT_EQ(quantized_weights.scales[0], 1.0f / 127);
  EXPECT_FLOAT_EQ(quantized_weights.scales[1], 1.0f);
  EXPECT_FLOAT_EQ(quantized_weights.scales[2], 0.1f);
}

TEST(QuantizeWeights, AreHalvedWhereProductsWouldSaturate) {
  QuantizedWeights large{{-127, 64, 65}, {0.5f}}, small{{-64, 64, 3}, {0.5f}};
  keep_from_saturating(large);
  EXPECT_EQ(large.values, (std::vector<std::int8_t>{-64, 32, 32}));
  EXPECT_EQ(large.scales, (std::vector<float>{1.0f}));
  keep_from_saturating(small);
  EXPECT_EQ(small.values, (std::vector<std::int8_t>{-64, 64, 3}));
}

}  // namespace
}  // namespace ptrain

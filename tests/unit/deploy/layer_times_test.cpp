// What decides which layers are computed in 8 bits: the whole model's time, conversions between layers included.
#include "core/deploy/quantization/layer_times.h"
#include "core/data/tensor_names.h"

#include "tests/test_backend.h"
#include "tests/unit/passes/example_models.h"

#include <gtest/gtest.h>

namespace ptrain {
namespace {

using namespace testing;

using Layers = std::set<std::string>;

/// Seconds of the layers a, b, c and d in a row, with those of converting real values before a layer in 8 bits.
struct Chain {
  std::map<std::string, LayerSeconds> layers;
  double conversion = 0;

  double operator()(const Layers& int8) const {
    double sum = 0;
    bool integers = false;
    for (const auto& [name, seconds] : layers) {
      const bool in_int8 = int8.contains(name);
      if (in_int8 && !integers) sum += conversion;
      sum += in_int8 ? seconds.int8 : seconds.real;
      integers = in_int8;
    }
    return sum;
  }
  Layers fastest(const Layers& start) const { return find_fastest_layers({"a", "b", "c", "d"}, start, *this); }
};

TEST(FindFastestLayers, ASlowerLayerStaysInt8WhereLeavingItCostsAConversion) {
  Chain chain{{{"a", {10, 5}}, {"b", {10, 12}}, {"c", {10, 5}}, {"d", {10, 5}}}, 3};
  const Layers all{"a", "b", "c", "d"}, without_b{"a", "c", "d"};
  EXPECT_EQ(chain.fastest(all), all);
  EXPECT_EQ(chain.fastest(without_b), all);
  chain.conversion = 1;
  EXPECT_EQ(chain.fastest(all), without_b);
  EXPECT_EQ(chain.fastest(without_b), without_b);
}

TEST(FindFastestLayers, NoneIsInt8WhereNonePays) {
  const Chain chain{{{"a", {10, 9}}, {"b", {10, 11}}, {"c", {10, 11}}, {"d", {10, 9}}}, 3};
  EXPECT_EQ(chain.fastest({"a", "d"}), Layers{});
  EXPECT_EQ(chain.fastest({}), Layers{});
}

TEST(LayerTimes, OfTheModelAreThoseOfItsNodes) {
  const auto backend = make_test_backend();
  const Graph graph = build_deployed_graph(bert_graph(0, Mode::evaluation), {tensor_names::logits}, {}).graph;
  QuantizationScheme scheme;
  scheme.source = "scheme";
  for (const Node& node : graph.nodes()) {
    if (has_int8_form(graph, node)) scheme.layers.insert(node.name);
  }
  for (const std::string& name : values_to_calibrate(graph, scheme.layers)) scheme.formats[name] = {DType::s8, 0.1f};
  LayerTimes times(*backend, graph, scheme, {});
  const auto layers = times.by_layer();
  ASSERT_EQ(layers.size(), scheme.layers.size());
  LayerSeconds sum;
  for (const auto& [name, seconds] : layers) {
    EXPECT_GT(seconds.real, 0) << name;
    EXPECT_GT(seconds.int8, 0) << name;
    sum.real += seconds.real;
    sum.int8 += seconds.int8;
  }
  EXPECT_NEAR(times.of_model({}), sum.real, 1e-9 * sum.real);
  EXPECT_NEAR(times.of_model(scheme.layers), sum.int8, 1e-9 * sum.int8) << "nothing between layers is dequantized";
  Layers but_one = scheme.layers;
  but_one.erase(but_one.begin());
  EXPECT_LT(times.of_model(but_one), sum.real + sum.int8);
}

}  // namespace
}  // namespace ptrain

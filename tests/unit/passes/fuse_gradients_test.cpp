#include "core/passes/fuse_gradients.h"
#include "core/passes/fuse_gradient_sums.h"

#include "core/ops/elementwise.h"
#include "core/ops/linear.h"
#include "core/ops/normalization/batch_norm.h"
#include "core/passes/fuse.h"
#include "tests/unit/passes/example_models.h"

#include <gtest/gtest.h>

namespace ptrain {
namespace {

using namespace testing;

Differentiated differentiate_output(Graph graph, const char* output) {
  const ValueId value = graph.find_output(output);
  const ValueId seed = graph.add_input("seed", graph.desc(value));
  return differentiate(std::move(graph), {{value, seed}});
}

std::map<std::string, int> gradient_types(const Differentiated& differentiated) {
  EXPECT_NO_THROW(verify(differentiated.graph));
  return node_types(differentiated.graph);
}

TEST(FuseGradients, JoinsTheGeluOfEveryLayerOfBert) {
  for (const AmpLevel level : all_levels) {
    const Graph forward = apply_amp(fuse(bert_graph()), amp_options(level)).graph;
    const Differentiated before = differentiate_output(forward, "loss");
    const Differentiated after = fuse_gradients(before);
    auto types_before = gradient_types(before), types_after = gradient_types(after);
    EXPECT_EQ(types_before["gelu_grad"], 2);
    EXPECT_EQ(types_after["gelu_grad"], 0);
    EXPECT_EQ(types_after["linear_grad_input"], types_before["linear_grad_input"]);
    EXPECT_EQ(types_after["linear_grad_weight"], types_before["linear_grad_weight"]);
    int with_gelu = 0, without_bias = 0;
    for (const Node& node : after.graph.nodes()) {
      if (node.op->type() == "linear_grad_input") {
        const LinearGradInputAttributes& attrs = op_as<LinearGradInput>(node).attrs();
        if (attrs.activation == Activation::none) continue;
        ++with_gelu;
        EXPECT_EQ(attrs.bias, after.graph.desc(node.inputs[1]).dtype);
      } else if (node.op->type() == "linear_grad_weight") {
        without_bias += !op_as<LinearGradWeight>(node).attrs().bias;
      }
    }
    EXPECT_EQ(with_gelu, 2);
    EXPECT_EQ(without_bias, 2);
  }
}

TEST(FuseGradients, KeepsEveryParametersGradientAndItsOrder) {
  for (const NamedGraph& model : all_models()) {
    const Differentiated before = differentiate_output(fuse(model.graph), "loss");
    const Differentiated after = fuse_gradients(before);
    ASSERT_EQ(after.gradients.size(), before.gradients.size()) << model.name;
    for (std::size_t i = 0; i < after.gradients.size(); ++i) {
      const ParameterGradient &a = after.gradients[i], &b = before.gradients[i];
      EXPECT_EQ(after.graph.value(a.parameter).name, before.graph.value(b.parameter).name) << model.name;
      EXPECT_EQ(after.graph.desc(a.gradient), before.graph.desc(b.gradient)) << model.name;
    }
    EXPECT_EQ(after.graph.desc(after.graph.find_output("loss")), before.graph.desc(before.graph.find_output("loss")));
  }
}

TEST(FuseGradientSums, TakesThoseOfAllResidualBlocksButTheFirstInput) {
  for (const auto& [depth, blocks] : {std::pair{18, 8}, {50, 16}}) {
    const Differentiated before = differentiate_output(fuse(resnet_graph(depth, 64)), "loss");
    const Differentiated after = fuse_gradient_sums(before);
    auto types_before = gradient_types(before), types_after = gradient_types(after);
    EXPECT_EQ(types_before["add"], blocks);
    EXPECT_EQ(types_after["add"], 1);  // the first block's input comes from no block
    EXPECT_EQ(types_after["batch_norm_grad"], types_before["batch_norm_grad"]);
    int in_two_parts = 0;
    for (const Node& node : after.graph.nodes()) {
      in_two_parts += node.op->type() == "batch_norm_grad" && node.inputs.size() == BatchNormGrad::dy_more + 1;
    }
    EXPECT_EQ(in_two_parts, blocks - 1);
    ASSERT_EQ(after.gradients.size(), before.gradients.size());
    for (std::size_t i = 0; i < after.gradients.size(); ++i) {
      EXPECT_EQ(after.graph.value(after.gradients[i].gradient).name,
                before.graph.value(before.gradients[i].gradient).name);
    }
  }
}

TEST(FuseGradientSums, LeavesASumThatIsAnOutput) {
  Differentiated before = differentiate_output(fuse(resnet_graph(18, 64)), "loss");
  for (const Node& node : before.graph.nodes()) {
    if (node.op->type() == "add") before.graph.set_output("kept " + node.name, node.outputs[0]);
  }
  EXPECT_EQ(gradient_types(fuse_gradient_sums(before)), gradient_types(before));
}

/// Two linear layers with an activation between them.
struct TwoLayers {
  Graph graph;
  ValueId hidden;

  explicit TwoLayers(Activation activation, const std::vector<const char*>& first = {"w1", "b1"}) {
    const ValueId x = graph.add_parameter("x", Shape{4, 8});
    std::vector<ValueId> inputs{x, graph.add_parameter(first[0], Shape{8, 8})};
    if (first.size() > 1) inputs.push_back(graph.add_parameter(first[1], Shape{8}));
    hidden = graph.add("first", std::make_shared<Linear>(LinearAttributes{activation, true}), inputs);
  }
  ValueId second() {
    return graph.add("second", std::make_shared<Linear>(), {hidden, graph.add_parameter("w2", Shape{8, 8})});
  }
};

TEST(FuseGradients, JoinsEveryActivation) {
  for (const Activation activation :
       {Activation::gelu_erf, Activation::gelu_tanh, Activation::tanh, Activation::relu}) {
    TwoLayers layers(activation);
    layers.graph.set_output("y", layers.second());
    const Differentiated after = fuse_gradients(differentiate_output(layers.graph, "y"));
    auto types = gradient_types(after);
    EXPECT_EQ(types["linear_grad_input"], 2);
    EXPECT_EQ(types["gelu_grad"] + types["tanh_grad"] + types["relu_grad"], 0);
    const auto& attrs = op_as<LinearGradInput>(node_of_type(after.graph, "linear_grad_input")).attrs();
    EXPECT_EQ(attrs.activation, activation);
    EXPECT_EQ(attrs.bias, DType::f32);
  }
}

TEST(FuseGradients, SumsNoBiasGradientWhereThereIsNoBias) {
  TwoLayers layers(Activation::gelu_tanh, {"w1"});
  layers.graph.set_output("y", layers.second());
  const Differentiated after = fuse_gradients(differentiate_output(layers.graph, "y"));
  auto types = gradient_types(after);
  EXPECT_EQ(types["gelu_grad"], 0);
  EXPECT_EQ(op_as<LinearGradInput>(node_of_type(after.graph, "linear_grad_input")).attrs().bias, std::nullopt);
}

TEST(FuseGradients, LeavesAnActivationThatIsReadTwice) {
  TwoLayers layers(Activation::gelu_tanh);
  layers.graph.set_output("y", layers.graph.add("sum", std::make_shared<Add>(), {layers.second(), layers.hidden}));
  const Differentiated before = differentiate_output(layers.graph, "y");
  EXPECT_EQ(gradient_types(fuse_gradients(before)), gradient_types(before));
}

TEST(FuseGradients, LeavesAProductThatIsAnOutput) {
  TwoLayers layers(Activation::gelu_tanh);
  layers.graph.set_output("y", layers.second());
  Differentiated before = differentiate_output(layers.graph, "y");
  before.graph.set_output("dy", node_of_type(before.graph, "linear_grad_input").outputs[0]);
  EXPECT_EQ(gradient_types(fuse_gradients(before)), gradient_types(before));
}

TEST(FuseGradients, ChangesNothingTheSecondTime) {
  for (const NamedGraph& model : all_models()) {
    const Differentiated once = fuse_gradients(differentiate_output(fuse(model.graph), "loss"));
    EXPECT_EQ(print(fuse_gradients(once).graph), print(once.graph)) << model.name;
  }
}

}  // namespace
}  // namespace ptrain

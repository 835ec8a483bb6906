#include "core/passes/autodiff.h"

#include "core/ops/elementwise.h"
#include "core/passes/fuse.h"
#include "tests/unit/passes/example_models.h"

#include <gtest/gtest.h>

#include <set>

namespace ptrain {
namespace {

using namespace testing;

Differentiated differentiate_loss(Graph graph) {
  const ValueId seed = graph.add_input("seed", {DType::f32, Shape{}});
  const ValueId loss = graph.find_output("loss");
  return differentiate(std::move(graph), {{loss, seed}});
}

std::set<std::string> read_parameters(const Graph& graph) {
  std::set<std::string> names;
  for (const Node& node : graph.nodes()) {
    for (const ValueId id : node.inputs) {
      if (id != no_value && graph.value(id).storage == Storage::parameter) names.insert(graph.value(id).name);
    }
  }
  return names;
}

TEST(Autodiff, EveryParameterOfEveryModelGetsOneGradient) {
  for (const NamedGraph& model : all_models()) {
    for (const Fusion fusion : {Fusion::off, Fusion::full}) {
      for (const AmpLevel level : all_levels) {
        const Graph forward = fusion == Fusion::full ? fuse(model.graph) : model.graph;
        const Graph graph = apply_amp(forward, amp_options(level)).graph;
        const Differentiated d = differentiate_loss(graph);
        ASSERT_NO_THROW(verify(d.graph)) << model.name;
        std::set<std::string> with_gradient;
        for (const ParameterGradient& g : d.gradients) {
          const Value& parameter = d.graph.value(g.parameter);
          EXPECT_TRUE(with_gradient.insert(parameter.name).second) << parameter.name;
          EXPECT_EQ(d.graph.desc(g.gradient).shape, parameter.desc.shape) << parameter.name;
          EXPECT_TRUE(is_floating(d.graph.desc(g.gradient).dtype));
        }
        EXPECT_EQ(with_gradient, read_parameters(graph)) << model.name;
      }
    }
  }
}

TEST(Autodiff, MakesNothingThatNobodyReads) {
  for (const NamedGraph& model : all_models()) {
    const Differentiated d = differentiate_loss(fuse(model.graph));
    std::set<ValueId> read;
    for (const Node& node : d.graph.nodes()) read.insert(node.inputs.begin(), node.inputs.end());
    for (const ParameterGradient& g : d.gradients) read.insert(g.gradient);
    for (const Node& node : d.graph.nodes()) {
      if (node.phase != Pass::backward) continue;
      bool used = false;
      for (const ValueId id : node.outputs) used = used || read.contains(id);
      EXPECT_TRUE(used) << model.name << ": " << node.name;
    }
  }
}

TEST(Autodiff, DoesNotDifferentiateByTheImages) {
  auto types = node_types(differentiate_loss(fuse(resnet_graph(50, 64))).graph);
  EXPECT_EQ(types["conv2d_grad_weight"], 53);
  EXPECT_EQ(types["conv2d_grad_input"], 52) << "all but the first convolution";
}

TEST(Autodiff, SumsTheGradientsOfAValueThatIsReadTwice) {
  Graph graph;
  const ValueId w = graph.add_parameter("w", Shape{8});
  const ValueId a = graph.add("a", std::make_shared<Scale>(2.0f), {w});
  const ValueId b = graph.add("b", std::make_shared<Scale>(3.0f), {w});
  const ValueId sum = graph.add("sum", std::make_shared<Add>(), {a, b});
  const ValueId seed = graph.add_input("seed", {DType::f32, Shape{8}});
  const Differentiated d = differentiate(graph, {{sum, seed}});
  verify(d.graph);
  ASSERT_EQ(d.gradients.size(), 1u);
  const Node& last = d.graph.node(d.graph.value(d.gradients[0].gradient).producer);
  EXPECT_EQ(last.op->type(), "add");
  EXPECT_EQ(last.phase, Pass::backward);
  EXPECT_EQ(d.graph.nodes().size(), 3u + 3u);
}

TEST(Autodiff, SquareByAdditionGivesTheSeedTwice) {
  Graph graph;
  const ValueId w = graph.add_parameter("w", Shape{8});
  const ValueId doubled = graph.add("doubled", std::make_shared<Add>(), {w, w});
  const ValueId seed = graph.add_input("seed", {DType::f32, Shape{8}});
  const Differentiated d = differentiate(graph, {{doubled, seed}});
  ASSERT_EQ(d.gradients.size(), 1u);
  const Node& sum = d.graph.node(d.graph.value(d.gradients[0].gradient).producer);
  EXPECT_EQ(sum.inputs, (std::vector<ValueId>{seed, seed}));
}

TEST(Autodiff, LeavesOutParametersThatDoNotLeadToTheLoss) {
  Graph graph;
  const ValueId used = graph.add_parameter("used", Shape{8});
  const ValueId unused = graph.add_parameter("unused", Shape{8});
  const ValueId y = graph.add("y", std::make_shared<Scale>(2.0f), {used});
  graph.add("z", std::make_shared<Scale>(2.0f), {unused});
  const ValueId seed = graph.add_input("seed", {DType::f32, Shape{8}});
  const Differentiated d = differentiate(graph, {{y, seed}});
  ASSERT_EQ(d.gradients.size(), 1u);
  EXPECT_EQ(d.gradients[0].parameter, used);
}

TEST(Autodiff, OrdersGradientsAsBackwardFinishesThem) {
  const Differentiated d = differentiate_loss(fuse(resnet_graph(18)));
  EXPECT_TRUE(d.graph.value(d.gradients.front().parameter).name.starts_with("fc."));
  EXPECT_EQ(d.graph.value(d.gradients.back().parameter).name, "conv1.weight");
  NodeId last = -1;
  for (const ParameterGradient& g : d.gradients) {
    const NodeId producer = d.graph.value(g.gradient).producer;
    EXPECT_GE(producer, last);
    last = producer;
  }
}

}  // namespace
}  // namespace ptrain

#include "core/passes/fuse.h"

#include "core/ops/activation.h"
#include "core/ops/dropout.h"
#include "core/ops/elementwise.h"
#include "core/ops/image/conv2d.h"
#include "core/ops/linear.h"
#include "core/ops/normalization/batch_norm.h"
#include "core/ops/normalization/dropout_add_layer_norm.h"
#include "core/ops/normalization/layer_norm.h"
#include "models/vision/mobilenet.h"
#include "models/vision/retinanet.h"
#include "models/vision/vgg.h"
#include "tests/unit/passes/example_models.h"

#include <gtest/gtest.h>

namespace ptrain {
namespace {

using namespace testing;

struct NormCounts {
  int plain = 0, relu = 0, residual = 0;
  bool operator==(const NormCounts&) const = default;
};

NormCounts count_norms(const Graph& graph) {
  NormCounts counts;
  for (const Node& node : graph.nodes()) {
    if (node.op->type() != "batch_norm") continue;
    const bool residual = node.inputs.size() > BatchNorm::residual && node.inputs[BatchNorm::residual] != no_value;
    const bool relu = op_as<BatchNorm>(node).attrs().activation == Activation::relu;
    EXPECT_TRUE(relu || !residual);
    ++(residual ? counts.residual : relu ? counts.relu : counts.plain);
  }
  return counts;
}

void expect_resnet_fused(int depth, int convolutions, int blocks, int downsamples) {
  for (const Mode mode : {Mode::training, Mode::evaluation}) {
    const Graph graph = resnet_graph(depth, 32, mode);
    const Graph fused = fuse(graph);
    ASSERT_NO_THROW(verify(fused));
    auto before = node_types(graph), after = node_types(fused);
    EXPECT_EQ(before["batch_norm"], convolutions);
    EXPECT_EQ(before["add"], blocks);
    EXPECT_EQ(after["conv2d"], convolutions);
    EXPECT_EQ(after["relu"], 0);
    EXPECT_EQ(after["add"], 0);
    // Of a downsampling block's two batch norms, one takes the other's output as the residual.
    EXPECT_EQ(count_norms(fused), (NormCounts{downsamples, convolutions - blocks - downsamples, blocks}));
    EXPECT_EQ(fused.desc(fused.find_output("logits")), graph.desc(graph.find_output("logits")));
  }
}

TEST(Fuse, JoinsEveryBlockOfResNet) {
  expect_resnet_fused(18, 20, 8, 3);
  expect_resnet_fused(50, 53, 16, 4);
}

TEST(Fuse, JoinsEveryActivationOfMobileNetWithTheNormBeforeIt) {
  const Graph graph = make_mobilenet_v2({})->build(2, Mode::training);
  const Graph fused = fuse(graph);
  ASSERT_NO_THROW(verify(fused));
  auto before = node_types(graph), after = node_types(fused);
  EXPECT_EQ(before["relu6"], 35);
  EXPECT_EQ(after["relu6"], 0);
  int with_relu6 = 0;
  for (const Node& node : fused.nodes()) {
    if (node.op->type() == "batch_norm") with_relu6 += op_as<BatchNorm>(node).attrs().activation == Activation::relu6;
  }
  EXPECT_EQ(with_relu6, 35);
}

TEST(Fuse, JoinsTheReluBehindAConvolutionWithABias) {
  const Graph fused = fuse(make_vgg16({.image_size = 32})->build(2, Mode::training));
  ASSERT_NO_THROW(verify(fused));
  auto types = node_types(fused);
  EXPECT_EQ(types["conv2d"], 13);
  EXPECT_EQ(types["relu"], 0);
  for (const Node& node : fused.nodes()) {
    if (node.op->type() != "conv2d") continue;
    EXPECT_EQ(op_as<Conv2d>(node).activation(), Activation::relu) << node.name;
  }
}

TEST(Fuse, JoinsResidualsAndConvolutionsWithFrozenNorms) {
  RetinaNetSpec spec;
  spec.classes = 2;
  spec.image_size = 64;
  const Graph fused = fuse(make_retinanet(spec)->build(1, Mode::training));
  ASSERT_NO_THROW(verify(fused));
  auto types = node_types(fused);
  EXPECT_EQ(types["add"], 0);
  EXPECT_EQ(types["relu"], 1) << "of the sixth level, which is read without it too";
  int residuals = 0;
  for (const Node& node : fused.nodes()) {
    if (node.op->type() != "conv2d" || node.inputs.size() <= Conv2d::residual) continue;
    EXPECT_EQ(op_as<Conv2d>(node).activation(), Activation::relu) << node.name;
    ++residuals;
  }
  EXPECT_EQ(residuals, 16);
}

TEST(Fuse, JoinsEveryLayerOfBert) {
  const Graph graph = bert_graph();
  const Graph fused = fuse(graph);
  ASSERT_NO_THROW(verify(fused));
  auto before = node_types(graph), after = node_types(fused);
  EXPECT_EQ(before["dropout"], 6);
  EXPECT_EQ(before["layer_norm"], 5);
  EXPECT_EQ(after["dropout_add_layer_norm"], 4);
  EXPECT_EQ(after["layer_norm"], 1) << "the embeddings' one follows no addition";
  EXPECT_EQ(after["dropout"], 2) << "those of the embeddings and the classifier";
  EXPECT_EQ(after["add"], 0);
  EXPECT_EQ(after["gelu"], 0);
  EXPECT_EQ(after["linear"], 10);
  int with_gelu = 0;
  for (const Node& node : fused.nodes()) {
    if (node.op->type() == "linear") with_gelu += op_as<Linear>(node).attrs().activation == Activation::gelu_erf;
  }
  EXPECT_EQ(with_gelu, 2);
}

TEST(Fuse, KeepsTheDropoutsProbabilityStreamAndEpsilon) {
  const Graph graph = bert_graph(0.25f);
  std::map<std::string, std::uint32_t> streams;
  for (const Node& node : graph.nodes()) {
    if (node.op->type() == "dropout") streams[node.name] = op_as<Dropout>(node).attrs().stream;
  }
  const Graph fused = fuse(graph);
  for (const Node& node : fused.nodes()) {
    if (node.op->type() != "dropout_add_layer_norm") continue;
    const auto& attrs = op_as<DropoutAddLayerNorm>(node).attrs();
    const std::string dropout = node.name.substr(0, node.name.rfind('.')) + ".dropout";
    EXPECT_FLOAT_EQ(attrs.dropout, 0.25f);
    EXPECT_FLOAT_EQ(attrs.epsilon, 1e-12f);
    ASSERT_TRUE(streams.contains(dropout)) << node.name;
    EXPECT_EQ(attrs.stream, streams[dropout]) << node.name;
  }
}

TEST(Fuse, JoinsAdditionAndNormWithoutDropout) {
  auto after = node_types(fuse(bert_graph(0.1f, Mode::evaluation)));
  EXPECT_EQ(after["dropout_add_layer_norm"], 4);
  EXPECT_EQ(after["add"] + after["dropout"], 0);
}

TEST(Fuse, ChangesNothingTheSecondTime) {
  for (const NamedGraph& model : all_models()) {
    const Graph once = fuse(model.graph);
    EXPECT_EQ(print(fuse(once)), print(once)) << model.name;
  }
}

/// Parts from which the patterns are built by hand.
struct Parts {
  Graph graph;
  ValueId x = graph.add_input("x", {DType::f32, Shape{4, 8}});
  ValueId other = graph.add_input("other", {DType::f32, Shape{4, 8}});
  ValueId channel(const char* name) { return graph.add_parameter(name, Shape{8}); }
  ValueId norm(const std::string& name, ValueId from) {
    return graph.add(name, std::make_shared<BatchNorm>(BatchNorm::Attributes{}),
                     {from, channel("gamma"), channel("beta"), graph.add_state("mean", {DType::f32, Shape{8}}),
                      graph.add_state("var", {DType::f32, Shape{8}})});
  }
  ValueId sum(ValueId a, ValueId b) { return graph.add("sum", std::make_shared<Add>(), {a, b}); }
  ValueId relu(ValueId from) { return graph.add("relu", std::make_shared<ActivationOp>(Activation::relu), {from}); }
  ValueId linear(ValueId from) {
    return graph.add("linear", std::make_shared<Linear>(), {from, graph.add_parameter("w", Shape{8, 8}), no_value});
  }
  ValueId gelu(ValueId from) { return graph.add("gelu", std::make_shared<ActivationOp>(Activation::gelu_erf), {from}); }
  ValueId layer_norm(ValueId from) {
    return graph.add("ln", std::make_shared<LayerNorm>(1e-5f), {from, channel("g"), channel("b")});
  }
  ValueId dropout(ValueId from, DropoutUnit unit = DropoutUnit::element) {
    const ValueId rng = graph.add_input("rng", {DType::i64, Shape{3}});
    return graph.add("dropout", std::make_shared<Dropout>(DropoutAttributes{0.1f, 1, unit}), {from, rng});
  }
  void expect_left_alone(ValueId result) {
    graph.set_output("result", result);
    const Graph fused = fuse(graph);
    EXPECT_EQ(node_types(fused), node_types(graph));
  }
};

TEST(Fuse, LeavesANormThatIsReadTwice) {
  Parts p;
  const ValueId norm = p.norm("norm", p.x);
  const ValueId relu = p.relu(norm);
  p.expect_left_alone(p.sum(relu, norm));
}

TEST(Fuse, LeavesANormThatIsAnOutput) {
  Parts p;
  const ValueId norm = p.norm("norm", p.x);
  p.graph.set_output("norm", norm);
  p.expect_left_alone(p.relu(norm));
}

TEST(Fuse, LeavesASumThatIsReadTwice) {
  Parts p;
  const ValueId sum = p.sum(p.norm("norm", p.x), p.other);
  p.graph.set_output("sum", sum);
  p.expect_left_alone(p.relu(sum));
}

TEST(Fuse, LeavesASumWithoutANorm) {
  Parts p;
  p.expect_left_alone(p.relu(p.sum(p.x, p.other)));
}

TEST(Fuse, LeavesALinearThatIsReadTwice) {
  Parts p;
  const ValueId linear = p.linear(p.x);
  const ValueId gelu = p.gelu(linear);
  p.expect_left_alone(p.sum(gelu, linear));
}

TEST(Fuse, LeavesAResidualSumThatIsReadTwice) {
  Parts p;
  const ValueId sum = p.sum(p.dropout(p.x), p.other);
  p.graph.set_output("sum", sum);
  p.expect_left_alone(p.layer_norm(sum));
}

TEST(Fuse, KeepsADropoutOfSamplesOutOfTheJoint) {
  Parts p;
  p.graph.set_output("result", p.layer_norm(p.sum(p.dropout(p.x, DropoutUnit::sample), p.other)));
  const Graph fused = fuse(p.graph);
  auto types = node_types(fused);
  EXPECT_EQ(types["dropout"], 1);
  EXPECT_EQ(op_as<DropoutAddLayerNorm>(node_of_type(fused, "dropout_add_layer_norm")).attrs().dropout, 0.0f);
}

TEST(Fuse, KeepsADropoutThatIsReadTwiceOutOfTheJoint) {
  Parts p;
  const ValueId dropped = p.dropout(p.x);
  p.graph.set_output("dropped", dropped);
  p.graph.set_output("result", p.layer_norm(p.sum(dropped, p.other)));
  const Graph fused = fuse(p.graph);
  auto types = node_types(fused);
  EXPECT_EQ(types["dropout"], 1);
  EXPECT_EQ(types["dropout_add_layer_norm"], 1);
  EXPECT_EQ(op_as<DropoutAddLayerNorm>(node_of_type(fused, "dropout_add_layer_norm")).attrs().dropout, 0.0f);
}

TEST(Fuse, TakesTheNormOnEitherSideOfTheSum) {
  for (const int side : {0, 1}) {
    Parts p;
    const ValueId norm = p.norm("norm", p.x);
    p.graph.set_output("result", p.relu(side == 0 ? p.sum(norm, p.other) : p.sum(p.other, norm)));
    const Graph fused = fuse(p.graph);
    EXPECT_EQ(fused.nodes().size(), 1u);
    EXPECT_EQ(count_norms(fused), (NormCounts{0, 0, 1}));
    EXPECT_EQ(fused.value(fused.nodes()[0].inputs[BatchNorm::residual]).name, "other");
  }
}

}  // namespace
}  // namespace ptrain

// Graphs of deployed models: nothing of training is left in them, and what follows a sum is joined to it.
#include "core/data/tensor_names.h"
#include "core/model/model.h"
#include "core/ops/image/conv2d.h"
#include "core/ops/linear.h"
#include "models/vision/vgg.h"
#include "tests/unit/passes/example_models.h"

#include <gtest/gtest.h>

#include <cmath>

namespace ptrain {
namespace {

using namespace testing;

DeployedGraph deployed(const Graph& graph, AmpLevel level = AmpLevel::O0) {
  PipelineOptions options;
  options.amp = amp_options(level);
  return build_deployed_graph(graph, {tensor_names::logits}, options);
}

Graph resnet(int depth) { return resnet_graph(depth, 64, Mode::evaluation); }
Graph bert() { return bert_graph(0.1f, Mode::evaluation); }

TEST(Deployed, ResNetIsConvolutionsPoolsAndAProduct) {
  const DeployedGraph result = deployed(resnet(50));
  const std::map<std::string, int> expected{
      {"normalize_image", 1}, {"conv2d", 53}, {"max_pool2d", 1}, {"global_average_pool", 1}, {"linear", 1}};
  EXPECT_EQ(node_types(result.graph), expected);
  EXPECT_EQ(result.folded.size(), 53u);
  int residuals = 0, activated = 0;
  for (const Node& node : result.graph.nodes()) {
    if (node.op->type() != "conv2d") continue;
    EXPECT_NE(node.inputs[Conv2d::bias], no_value) << node.name;
    residuals += node.inputs.size() > Conv2d::residual ? 1 : 0;
    activated += op_as<Conv2d>(node).activation() == Activation::relu ? 1 : 0;
  }
  EXPECT_EQ(residuals, 16) << "one for each block";
  EXPECT_EQ(activated, 53 - 4) << "all but the shortcuts' projections";
}

TEST(Deployed, BertIsFusedAndSavesNothing) {
  const DeployedGraph result = deployed(bert());
  const std::map<std::string, int> expected{{"bert_embedding", 1}, {"layer_norm", 1},   {"linear", 10},
                                            {"attention", 2},      {"gather_token", 1}, {"dropout_add_layer_norm", 4}};
  EXPECT_EQ(node_types(result.graph), expected);
  for (const Node& node : result.graph.nodes()) {
    if (node.op->type() != "linear") continue;
    EXPECT_FALSE(op_as<Linear>(node).attrs().save_pre) << node.name;
  }
}

TEST(Deployed, OnlyTheLogitsAndWhatTheyNeedAreLeft) {
  for (const Graph& graph : {resnet(18), bert()}) {
    const Graph result = deployed(graph).graph;
    EXPECT_EQ(result.outputs().size(), 1u);
    EXPECT_EQ(result.find_value(tensor_names::labels), no_value);
    std::set<ValueId> read;
    for (const Node& node : result.nodes()) read.insert(node.inputs.begin(), node.inputs.end());
    for (std::size_t i = 0; i < result.values().size(); ++i) {
      const Value& value = result.values()[i];
      if (value.storage == Storage::activation) continue;
      EXPECT_TRUE(read.contains(static_cast<ValueId>(i))) << value.name;
      EXPECT_FALSE(is_running_statistic(value.name)) << value.name;
    }
  }
}

TEST(Deployed, BiasesStayInFp32WhereTheRestIsLow) {
  for (const AmpLevel level : {AmpLevel::O1, AmpLevel::O2}) {
    const Graph graph = deployed(resnet(18), level).graph;
    for (const Node& node : graph.nodes()) {
      if (node.op->type() != "conv2d") continue;
      EXPECT_EQ(graph.desc(node.inputs[Conv2d::w]).dtype, DType::bf16);
      EXPECT_EQ(graph.desc(node.inputs[Conv2d::bias]).dtype, DType::f32);
    }
  }
}

TEST(Deployed, TheNormOfATrainingGraphIsNotFolded) {
  EXPECT_TRUE(fold_batch_norms(resnet_graph(18, 32, Mode::training)).norms.empty());
}

TEST(Deployed, AConvolutionThatIsReadTwiceIsNotFolded) {
  Graph graph = resnet(18);
  const Node& norm = node_of_type(graph, "batch_norm");
  graph.set_output("before the norm", norm.inputs.front());
  EXPECT_EQ(fold_batch_norms(graph).norms.size(), 19u);
}

TEST(Deployed, FoldingIsTheNormsAffineMap) {
  const std::vector<float> gamma{2, -1}, beta{0.5f, 3}, mean{1, -2}, variance{3, 0.25f};
  std::vector<float> filters{1, 2, 3, 4};
  const std::vector<float> bias = fold_norm({gamma, beta, mean, variance, 1}, filters);
  const float second = -1 / std::sqrt(1.25f);
  EXPECT_FLOAT_EQ(filters[0], 1);
  EXPECT_FLOAT_EQ(filters[1], 2);
  EXPECT_FLOAT_EQ(filters[2], 3 * second);
  EXPECT_FLOAT_EQ(filters[3], 4 * second);
  EXPECT_FLOAT_EQ(bias[0], 0.5f - 1);
  EXPECT_FLOAT_EQ(bias[1], 3 + 2 * second);
}

TEST(Deployed, AConvolutionsBiasIsFoldedToo) {
  const std::vector<float> gamma{2, -1}, beta{0.5f, 3}, mean{1, -2}, variance{3, 3}, before{4, 5};
  std::vector<float> filters{1, 2};
  const std::vector<float> bias = fold_norm({gamma, beta, mean, variance, 1, before}, filters);
  EXPECT_FLOAT_EQ(bias[0], 0.5f + (4 - 1) * 1.0f);
  EXPECT_FLOAT_EQ(bias[1], 3 - (5 + 2) * 0.5f);
}

TEST(Deployed, VggIsConvolutionsPoolsAndProductsWithOrWithoutNorms) {
  for (const auto make : {make_vgg16, make_vgg16_bn}) {
    const DeployedGraph result = deployed(make({.image_size = 64})->build(2, Mode::evaluation));
    const std::map<std::string, int> expected{
        {"normalize_image", 1}, {"conv2d", 13}, {"max_pool2d", 5}, {"adaptive_avg_pool2d", 1}, {"linear", 3}};
    EXPECT_EQ(node_types(result.graph), expected);
    for (const FoldedNorm& norm : result.folded) EXPECT_TRUE(norm.bias.ends_with(".bias")) << norm.filters;
    for (const Node& node : result.graph.nodes()) {
      if (node.op->type() != "conv2d") continue;
      EXPECT_EQ(op_as<Conv2d>(node).activation(), Activation::relu) << node.name;
      EXPECT_EQ(node.inputs.size(), std::size_t{Conv2d::residual}) << node.name;
    }
  }
}

}  // namespace
}  // namespace ptrain

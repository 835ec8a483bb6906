#include "core/passes/fuse_convolutions.h"

#include "core/ops/image/conv2d.h"
#include "core/ops/image/conv2d_batch_norm.h"
#include "core/ops/normalization/batch_norm.h"
#include "core/ops/normalization/batch_norm_parts.h"
#include "core/passes/memory_plan.h"
#include "models/vision/vgg.h"
#include "tests/small_models.h"
#include "tests/unit/passes/example_models.h"

#include <gtest/gtest.h>

#include <set>

namespace ptrain {
namespace {

using namespace testing;

bool always(const FusionChoice&) { return true; }

/// ResNet as autodiff leaves it: what the pass gets to see.
Differentiated differentiated_resnet(int depth) {
  Differentiated seen;
  PipelineOptions options = training_pipeline(AmpLevel::O1);
  options.choose_fusion = always;  // makes the pass run; it is given another graph
  options.dump = [&](std::string_view pass, const Graph& graph) {
    if (pass == "autodiff") seen.graph = graph;
  };
  build_training_graph(resnet_graph(depth, 64), options);
  return seen;
}

Graph fused_resnet(int depth, const FusionPolicy& choose) {
  return fuse_convolutions(differentiated_resnet(depth), choose).graph;
}

struct Counts {
  int norms, prologues, applied;
};

Counts count(const Graph& graph) {
  Counts counts{};
  for (const Node& node : graph.nodes()) {
    counts.norms += node.op->type() == "batch_norm_finalize";
    counts.applied += node.op->type() == "batch_norm_apply";
    counts.prologues += node.op->type() == "conv2d_batch_norm" && node.inputs[Conv2dBatchNorm::scale] != no_value;
  }
  return counts;
}

TEST(FuseConvolutions, TakesInEveryNormOfAResNet) {
  const Graph graph = fused_resnet(50, always);
  ASSERT_NO_THROW(verify(graph));
  auto types = node_types(graph);
  EXPECT_EQ(types["batch_norm"], 0);
  EXPECT_EQ(types["conv2d"], 0);
  EXPECT_EQ(types["conv2d_batch_norm"], 53);
  // Two of each of the 16 blocks' norms lie between its convolutions.
  EXPECT_EQ(count(graph).prologues, 32);
  EXPECT_EQ(types["conv2d_batch_norm_grad_input"], 32);
  EXPECT_EQ(types["conv2d_batch_norm_grad_weight"], 32);
  EXPECT_EQ(types["batch_norm_grad_apply"], 32);
  EXPECT_EQ(types["batch_norm_grad"], 53 - 32);
  // The stem's and the blocks' last norms are applied by themselves, the four shortcuts' by those.
  EXPECT_EQ(count(graph).norms, 53);
  EXPECT_EQ(count(graph).applied, 17);
}

TEST(FuseConvolutions, TakesInAShortcutsNormWithTheAddition) {
  int with_normed_residual = 0;
  const Graph graph = fused_resnet(18, always);
  for (const Node& node : graph.nodes()) {
    if (node.op->type() != "batch_norm_apply") continue;
    with_normed_residual += node.inputs[BatchNormApply::residual_scale] != no_value;
  }
  EXPECT_EQ(with_normed_residual, 3);
}

TEST(FuseConvolutions, LeavesConvolutionsWithABiasAlone) {
  PipelineOptions options = training_pipeline(AmpLevel::O1);
  options.choose_fusion = always;
  const Graph vgg = testing::with_losses(*make_vgg16_bn({.image_size = 32}), 2, Mode::training);
  auto types = node_types(build_training_graph(vgg, options).graph);
  EXPECT_EQ(types["conv2d"], 13);
  EXPECT_EQ(types["conv2d_grad_bias"], 13);
  EXPECT_EQ(types["conv2d_batch_norm"], 0);
}

TEST(FuseConvolutions, LeavesTheGraphAloneWhereNothingIsChosen) {
  const Differentiated before = differentiated_resnet(18);
  EXPECT_EQ(print(fuse_convolutions(before, [](const FusionChoice&) { return false; }).graph), print(before.graph));
}

TEST(FuseConvolutions, ChoosesBlockByBlock) {
  std::vector<std::size_t> separate, fused;
  const Graph graph = fused_resnet(18, [&](const FusionChoice& choice) {
    separate.push_back(choice.separate.size());
    fused.push_back(choice.fused.size());
    return separate.size() == 2;
  });
  ASSERT_NO_THROW(verify(graph));
  EXPECT_EQ(separate.size(), 9u) << "the stem and eight blocks";
  // The stem: convolution and norm become convolution, statistics and application.
  EXPECT_EQ(separate[0], 2u);
  EXPECT_EQ(fused[0], 3u);
  // A block: two convolutions and norms, and the first norm's three gradients.
  EXPECT_EQ(separate[1], 7u);
  EXPECT_EQ(fused[1], 2u + 2 + 1 + 3);
  EXPECT_EQ(count(graph).norms, 2);
  EXPECT_EQ(node_types(graph)["batch_norm"], 18);
}

TEST(FuseConvolutions, HandsOutTheNodesOfBothForms) {
  fused_resnet(50, [](const FusionChoice& choice) {
    for (const auto& nodes : {choice.separate, choice.fused}) {
      for (const NodeProblem& node : nodes) EXPECT_EQ(node.op->infer(node.inputs), node.outputs) << node.op->type();
    }
    return true;
  });
}

TEST(FuseConvolutions, KeepsTheGradientOfEveryParameter) {
  for (const int depth : {18, 50}) {
    PipelineOptions options = training_pipeline(AmpLevel::O2);
    const Graph apart = build_training_graph(resnet_graph(depth, 64), options).graph;
    options.fusion = Fusion::always;
    const Graph fused = build_training_graph(resnet_graph(depth, 64), options).graph;
    EXPECT_EQ(node_of_type(fused, "optimizer_update").op->attributes(),
              node_of_type(apart, "optimizer_update").op->attributes());
    EXPECT_EQ(fused.desc(fused.find_value(flat::grad)), apart.desc(apart.find_value(flat::grad)));
    const auto arena = [](const Graph& graph) { return plan_memory(graph, MemoryReuse::on).arena_bytes; };
    EXPECT_LT(arena(fused), arena(apart)) << "results of norms are no longer kept";
  }
}

TEST(FuseConvolutions, LeavesNormsOverRanksAndGroupedConvolutions) {
  Differentiated grouped;
  Graph& graph = grouped.graph;
  const ValueId x = graph.add_input("x", {DType::f32, Shape{2, 4, 4, 8}});
  const auto channel = [&](const char* name) { return graph.add_state(name, {DType::f32, Shape{8}}); };
  const auto norm = [&](const std::string& name, ValueId from, bool sync) {
    BatchNorm::Attributes attributes;
    attributes.sync = sync;
    return graph.add(name, std::make_shared<BatchNorm>(attributes),
                     {from, channel("gamma"), channel("beta"), channel("mean"), channel("var")});
  };
  const auto convolution = [&](const std::string& name, ValueId from, int groups) {
    return graph.add(name, std::make_shared<Conv2d>(Conv2dAttributes{.groups = groups}),
                     {from, graph.add_parameter(name + ".w", Shape{8, 1, 1, 8 / groups})});
  };
  const ValueId first = norm("over ranks", convolution("plain", x, 1), true);
  graph.set_output("result", norm("of groups", convolution("grouped", first, 2), false));
  EXPECT_EQ(print(fuse_convolutions(grouped, always).graph), print(grouped.graph));
}

}  // namespace
}  // namespace ptrain

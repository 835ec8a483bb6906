#include "core/passes/fuse_output_layer.h"

#include "core/ops/linear.h"
#include "core/ops/linear_cross_entropy.h"
#include "core/ops/softmax_cross_entropy.h"
#include "core/ops/tensor/binary.h"
#include "core/passes/memory_plan.h"
#include "tests/unit/passes/example_models.h"

#include <gtest/gtest.h>

namespace ptrain {
namespace {

using namespace testing;

/// The output layer of `classes` logits for 512 rows of `channels`, and its loss.
Graph layer_with_loss(std::int64_t classes, bool reads_logits = false, std::int64_t channels = 8) {
  constexpr std::int64_t rows = 512;
  Graph graph;
  const ValueId x = graph.add_parameter("x", Shape{rows, channels});
  const ValueId w = graph.add_parameter("w", Shape{classes, channels});
  const ValueId labels = graph.add_input("labels", {DType::i32, Shape{rows}});
  const ValueId logits = graph.add("head", std::make_shared<Linear>(), {x, w});
  if (reads_logits) graph.set_output("logits", logits);
  graph.set_output("loss", graph.add("loss", std::make_shared<SoftmaxCrossEntropy>(0.1f), {logits, labels}));
  return graph;
}

constexpr std::int64_t many_classes = 8192;  // 16 MiB of logits

TEST(FuseOutputLayer, TakesTheLogitsOfALargeVocabularyInChunks) {
  const Graph fused = fuse_output_layer(layer_with_loss(many_classes));
  ASSERT_NO_THROW(verify(fused));
  auto types = node_types(fused);
  EXPECT_EQ(types["linear"] + types["softmax_cross_entropy"], 0);
  const auto& attributes = op_as<LinearCrossEntropy>(node_of_type(fused, "linear_cross_entropy")).attrs();
  EXPECT_FLOAT_EQ(attributes.label_smoothing, 0.1f);
  EXPECT_EQ(attributes.chunk_rows, 256);
}

TEST(FuseOutputLayer, LeavesSmallLogitsAndThoseThatAreReadAlone) {
  for (const Graph& graph : {layer_with_loss(many_classes - 1), layer_with_loss(many_classes, true)}) {
    EXPECT_EQ(node_types(fuse_output_layer(graph)), node_types(graph));
  }
}

TEST(FuseOutputLayer, LeavesLogitsThatTakeLessMemoryThanSumsOfGradients) {
  const auto fuses = [](std::int64_t channels, const SumsApart& sums_apart) {
    const Graph fused = fuse_output_layer(layer_with_loss(many_classes, false, channels), sums_apart);
    return node_types(fused)["linear_cross_entropy"] == 1;
  };
  const auto are_apart = [](std::string_view parameter) { return parameter == "w"; };
  EXPECT_TRUE(fuses(576, {}));
  EXPECT_TRUE(fuses(383, are_apart));
  EXPECT_FALSE(fuses(384, are_apart)) << "256 rows of 6 bytes a class, against sums of 4 a channel";
}

Differentiated differentiate_loss(Graph graph, ValueId loss, ValueId seed) {
  return differentiate(std::move(graph), {{loss, seed}});
}

TEST(JoinLossWithGradient, ComputesTheLogitsOnce) {
  Graph graph = fuse_output_layer(layer_with_loss(many_classes));
  const ValueId loss = graph.find_output("loss");
  const ValueId weight = graph.add_input("weight", {DType::f32, Shape{}});
  const ValueId weighted = graph.add("weighted", std::make_shared<Binary>(BinaryFunction::mul), {loss, weight});
  graph.set_output("weighted", weighted);
  const ValueId seed = graph.add_input("seed", {DType::f32, Shape{}});
  const Differentiated joined = join_loss_with_gradient(differentiate_loss(graph, weighted, seed));
  ASSERT_NO_THROW(verify(joined.graph));
  auto types = node_types(joined.graph);
  EXPECT_EQ(types["linear_cross_entropy"], 0);
  EXPECT_EQ(types["linear_cross_entropy_grad"], 1);
  EXPECT_EQ(joined.graph.find_output("loss"),
            node_of_type(joined.graph, "linear_cross_entropy_grad").outputs[LinearCrossEntropyGrad::loss]);
  EXPECT_EQ(joined.gradients.size(), 2u);
  for (const ParameterGradient& g : joined.gradients) {
    EXPECT_EQ(joined.graph.desc(g.gradient), joined.graph.desc(g.parameter));
  }
}

TEST(JoinLossWithGradient, LeavesALossThatItsGradientDependsOn) {
  Graph graph = fuse_output_layer(layer_with_loss(many_classes));
  const ValueId loss = graph.find_output("loss");
  const ValueId square = graph.add("square", std::make_shared<Binary>(BinaryFunction::mul), {loss, loss});
  const ValueId seed = graph.add_input("seed", {DType::f32, Shape{}});
  const Differentiated d = join_loss_with_gradient(differentiate_loss(graph, square, seed));
  ASSERT_NO_THROW(verify(d.graph));
  EXPECT_EQ(node_types(d.graph)["linear_cross_entropy"], 1);
}

/// In O1 separate layers have the logits twice, in low precision and in fp32.
TEST(FuseOutputLayer, LeavesTheLogitsOutOfTheMemoryPlan) {
  const Graph graph = layer_with_loss(many_classes);
  for (const AmpLevel level : all_levels) {
    PipelineOptions options = training_pipeline(level);
    const auto arena_bytes = [&](Fusion fusion) {
      options.fusion = fusion;
      const Graph step = build_training_graph(graph, options).graph;
      EXPECT_EQ(node_types(step)["linear_cross_entropy_grad"], fusion == Fusion::full ? 1 : 0);
      return plan_memory(step, MemoryReuse::on).arena_bytes;
    };
    const std::int64_t half = many_classes * 256 * static_cast<std::int64_t>(sizeof(float));
    EXPECT_LE(arena_bytes(Fusion::full), arena_bytes(Fusion::off) - half * 9 / 10) << enum_name(level);
  }
}

}  // namespace
}  // namespace ptrain

#include "core/passes/fuse_casts.h"

#include "core/ops/normalization/dropout_add_layer_norm.h"
#include "core/passes/fuse.h"
#include "tests/unit/passes/example_models.h"

#include <gtest/gtest.h>

namespace ptrain {
namespace {

using namespace testing;
using Norm = DropoutAddLayerNorm;

TEST(FuseCasts, NormsOfBertReadAndWriteBothPrecisions) {
  for (const DType low : {DType::bf16, DType::f16}) {
    const Graph before = apply_amp(fuse(bert_graph()), amp_options(AmpLevel::O1, low)).graph,
                after = fuse_casts(before);
    ASSERT_NO_THROW(verify(after));
    int norms = 0;
    for (const Node& node : after.nodes()) {
      if (node.op->type() != "dropout_add_layer_norm") continue;
      ++norms;
      EXPECT_EQ(after.desc(node.inputs[Norm::x]).dtype, low) << node.name;
      EXPECT_EQ(after.desc(node.outputs[Norm::y]).dtype, DType::f32) << node.name;
    }
    auto types = node_types(before);
    EXPECT_EQ(norms, types["dropout_add_layer_norm"]);
    // Of each norm the cast of x, and that of y but for the last one's, of which the classifier takes one token.
    EXPECT_EQ(types["cast"] - node_types(after)["cast"], 2 * norms - 1);
    EXPECT_EQ(after.desc(after.find_output("logits")), before.desc(before.find_output("logits")));
  }
}

TEST(FuseCasts, LeavesOtherLevelsAlone) {
  for (const AmpLevel level : {AmpLevel::O0, AmpLevel::O2}) {
    const Graph graph = apply_amp(fuse(bert_graph()), amp_options(level)).graph;
    EXPECT_EQ(node_types(fuse_casts(graph)), node_types(graph));
  }
}

/// Only a cast reads them.
TEST(FuseCasts, PixelsAreNormalisedStraightToLowPrecision) {
  const Graph before = apply_amp(fuse(resnet_graph(18)), amp_options(AmpLevel::O1)).graph, after = fuse_casts(before);
  ASSERT_NO_THROW(verify(after));
  EXPECT_EQ(after.desc(node_of_type(after, "normalize_image").outputs[0]).dtype, DType::bf16);
  EXPECT_EQ(node_types(before)["cast"] - node_types(after)["cast"], 1);
}

/// A cast that something else reads too stays.
TEST(FuseCasts, KeepsWhatOthersRead) {
  Graph graph = apply_amp(fuse(bert_graph()), amp_options(AmpLevel::O1)).graph;
  const Node norm = node_of_type(graph, "dropout_add_layer_norm");
  graph.set_output("seen", norm.inputs[Norm::x]);
  const Graph after = fuse_casts(graph);
  ASSERT_NO_THROW(verify(after));
  EXPECT_EQ(after.desc(after.find_output("seen")).dtype, DType::f32);
}

}  // namespace
}  // namespace ptrain

#include "models/vision/efficientnet.h"

#include "core/data/tensor_names.h"
#include "core/ops/dropout.h"

#include <gtest/gtest.h>

namespace ptrain {
namespace {

std::vector<float> probabilities(const Graph& graph, DropoutUnit unit) {
  std::vector<float> found;
  for (const Node& node : graph.nodes()) {
    const auto* dropout = dynamic_cast<const Dropout*>(node.op.get());
    if (dropout != nullptr && dropout->attrs().unit == unit) found.push_back(dropout->attrs().p);
  }
  return found;
}

TEST(EfficientNet, LeavesTheDeeperBranchesOutMoreOften) {
  const Graph graph = make_efficientnet_b0({.dropout = 0.2f, .stochastic_depth = 0.2f})->build(2, Mode::training);
  // Of 16 blocks those that neither shrink the image nor change its channels, by torchvision's rule 0.2 i / 16.
  const std::vector<float> expected{0.025f, 0.05f, 0.075f, 0.0875f, 0.1125f, 0.125f, 0.15f, 0.1625f, 0.175f};
  const std::vector<float> found = probabilities(graph, DropoutUnit::sample);
  ASSERT_EQ(found.size(), expected.size());
  for (std::size_t i = 0; i < found.size(); ++i) EXPECT_NEAR(found[i], expected[i], 1e-6f) << i;
  EXPECT_EQ(probabilities(graph, DropoutUnit::element), std::vector<float>{0.2f});
}

TEST(EfficientNet, DropsNothingInEvaluationOrWhereItIsAskedNotTo) {
  const Graph evaluation =
      make_efficientnet_b0({.dropout = 0.2f, .stochastic_depth = 0.2f})->build(2, Mode::evaluation);
  const Graph neither = make_efficientnet_b0({})->build(2, Mode::training);
  for (const Graph& graph : {evaluation, neither}) {
    EXPECT_TRUE(probabilities(graph, DropoutUnit::sample).empty());
    EXPECT_TRUE(probabilities(graph, DropoutUnit::element).empty());
    EXPECT_EQ(graph.find_value(tensor_names::rng), no_value);
  }
  const Graph depth_alone = make_efficientnet_b0({.stochastic_depth = 0.2f})->build(2, Mode::training);
  EXPECT_NE(depth_alone.find_value(tensor_names::rng), no_value);
}

}  // namespace
}  // namespace ptrain

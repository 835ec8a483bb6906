#include "models/vision/convnext.h"

#include "core/ops/dropout.h"

#include <gtest/gtest.h>

namespace ptrain {
namespace {

TEST(ConvNext, LeavesBranchesOutFromNeverAtTheFirstToMostAtTheLast) {
  const Graph graph = make_convnext_tiny({.stochastic_depth = 0.17f})->build(2, Mode::training);
  std::vector<float> found;
  for (const Node& node : graph.nodes()) {
    if (const auto* dropout = dynamic_cast<const Dropout*>(node.op.get())) found.push_back(dropout->attrs().p);
  }
  ASSERT_EQ(found.size(), 17u);  // of 18 blocks; the first keeps its own
  for (std::size_t i = 0; i < found.size(); ++i) EXPECT_NEAR(found[i], 0.01f * static_cast<float>(i + 1), 1e-6f) << i;
}

}  // namespace
}  // namespace ptrain

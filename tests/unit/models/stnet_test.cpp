#include "models/vision/stnet.h"

#include "core/base/errors.h"
#include "core/data/tensor_names.h"
#include "core/ops/image/conv2d.h"
#include "core/ops/image/normalize_image.h"
#include "tests/small_models.h"

#include <gtest/gtest.h>

namespace ptrain {
namespace {

StnetSpec small_stnet() {
  StnetSpec spec{testing::small_resnet(50, 64)};
  spec.segments = 3;
  return spec;
}

const Node& find_layer(const Graph& graph, std::string_view name) {
  for (const Node& node : graph.nodes()) {
    if (node.name == name) return node;
  }
  fail_invariant("no such node");
}

TEST(Stnet, StacksTheFramesOfASegmentToOneImage) {
  const auto model = make_stnet(small_stnet());
  EXPECT_EQ(model->name(), "stnet_resnet50");
  EXPECT_EQ(model->sample(), "clip");
  const Graph graph = testing::with_losses(*model, 4, Mode::training);
  EXPECT_EQ(graph.desc(graph.find_value(tensor_names::images)).shape, (Shape{4 * 3 * 5, 64, 64, 3}));
  EXPECT_EQ(graph.desc(graph.find_value(tensor_names::labels)).shape, (Shape{4}));
  EXPECT_EQ(graph.desc(graph.find_output(tensor_names::logits)).shape, (Shape{4, 4}));
  EXPECT_EQ(graph.desc(find_layer(graph, "normalize").outputs[0]).shape, (Shape{4 * 3, 64, 64, 16}));
}

TEST(Stnet, ConvolvesOverTheSegmentsOfEachPixel) {
  const Graph graph = make_stnet(small_stnet())->build(4, Mode::training);
  const auto check = [&](const char* name, const Shape& input, const Shape& filters) {
    SCOPED_TRACE(name);
    const Node& node = find_layer(graph, name);
    EXPECT_EQ(graph.desc(node.inputs[Conv2d::x]).shape, input);
    EXPECT_EQ(graph.desc(node.inputs[Conv2d::w]).shape, filters);
    ASSERT_EQ(node.inputs.size(), 3u) << "with a bias";
  };
  check("temporal2.conv", {4, 5, 8 * 8, 256}, {256, 3, 1, 256});
  check("temporal3.conv", {4, 5, 4 * 4, 512}, {512, 3, 1, 512});
  check("xception.depthwise1", {4, 5, 1, 1024}, {1024, 3, 1, 1});
  check("xception.pointwise2", {4, 3, 1, 1024}, {1024, 1, 1, 1024});
  EXPECT_EQ(graph.desc(find_layer(graph, "maxpool_segments").outputs[0]).shape, (Shape{4, 1024}));
}

TEST(Stnet, WeightsFitAnyNumberOfSegmentsButNotOfTheirFrames) {
  StnetSpec spec = small_stnet();
  const std::string signature = make_stnet(spec)->signature();
  spec.segments = 7;
  EXPECT_EQ(make_stnet(spec)->signature(), signature);
  spec.frames_per_segment = 3;
  const auto model = make_stnet(spec);
  EXPECT_NE(model->signature(), signature);
  EXPECT_EQ(model->weights().front().external, "conv1.weight");
  EXPECT_EQ(model->weights().front().external_shape, (Shape{32, 9, 7, 7}));
}

}  // namespace
}  // namespace ptrain

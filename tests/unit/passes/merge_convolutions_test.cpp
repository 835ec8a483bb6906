// Parallel convolutions that become one at inference.
#include "core/passes/merge_convolutions.h"

#include "core/data/tensor_names.h"
#include "core/ops/activation.h"
#include "core/ops/elementwise.h"
#include "core/ops/image/conv2d.h"
#include "core/ops/tensor/binary.h"
#include "models/vision/pp_yoloe.h"
#include "tests/unit/passes/example_models.h"

#include <gtest/gtest.h>

#include <numeric>

namespace ptrain {
namespace {

using namespace testing;

constexpr Conv2dAttributes wide_form{.padding = 1}, narrow_form{};

/// x [1,6,6,2] and convolutions of it to 3 channels.
class ParallelConvolutions {
 public:
  ValueId input(const std::string& name = "x") { return graph.add_input(name, {DType::f32, Shape{1, 6, 6, 2}}); }
  ValueId convolution(const std::string& name, ValueId x, std::int64_t kernel, const Conv2dAttributes& form,
                      Activation activation = Activation::none) {
    const ValueId filters = graph.add_parameter(name + ".weight", Shape{3, kernel, kernel, 2});
    const ValueId bias = graph.add_parameter(name + ".bias", Shape{3});
    return graph.add(name, std::make_shared<Conv2d>(form, activation), {x, filters, bias});
  }
  ValueId sum(ValueId a, ValueId b) { return graph.add("sum", std::make_shared<Add>(), {a, b}); }
  /// The number of convolutions that are merged when `result` is the output.
  std::size_t count_merged(ValueId result) {
    graph.set_output("y", result);
    return merge_convolutions(graph).convolutions.size();
  }

  Graph graph;
};

TEST(MergeConvolutions, OfOneInputWhoseResultsAreAdded) {
  ParallelConvolutions of;
  const ValueId x = of.input();
  const ValueId scale = of.graph.add_parameter("alpha", Shape{1});
  const ValueId narrow = of.convolution("narrow", x, 1, narrow_form);
  const ValueId scaled = of.graph.add("scaled", std::make_shared<Binary>(BinaryFunction::mul), {narrow, scale});
  of.graph.set_output("y", of.sum(scaled, of.convolution("wide", x, 3, wide_form)));
  const MergedGraph merged = merge_convolutions(of.graph);
  ASSERT_EQ(merged.graph.nodes().size(), 1u);
  const Node& node = merged.graph.nodes().front();
  EXPECT_EQ(node.name, "wide");
  EXPECT_EQ(node.outputs.front(), merged.graph.find_output("y"));
  const MergedConvolution& one = merged.convolutions.front();
  EXPECT_EQ(merged.graph.value(node.inputs[Conv2d::w]).name, one.filters);
  EXPECT_EQ(merged.graph.desc(node.inputs[Conv2d::w]).shape, (Shape{3, 3, 3, 2}));
  EXPECT_EQ(merged.graph.value(node.inputs[Conv2d::bias]).name, one.bias);
  EXPECT_EQ(one.parts[0].filters, "wide.weight");
  EXPECT_EQ(one.parts[0].scale, "");
  EXPECT_EQ(one.parts[1].bias, "narrow.bias");
  EXPECT_EQ(one.parts[1].scale, "alpha");
  EXPECT_EQ(one.parts[1].shape, (Shape{3, 1, 1, 2}));
}

TEST(MergeConvolutions, LeavesThoseWhoseResultIsReadByItself) {
  ParallelConvolutions of;
  const ValueId x = of.input(), wide = of.convolution("wide", x, 3, wide_form);
  of.graph.set_output("wide", wide);
  EXPECT_EQ(of.count_merged(of.sum(wide, of.convolution("narrow", x, 1, narrow_form))), 0u);
}

TEST(MergeConvolutions, LeavesThoseOfOtherInputs) {
  ParallelConvolutions of;
  const ValueId wide = of.convolution("wide", of.input(), 3, wide_form);
  EXPECT_EQ(of.count_merged(of.sum(wide, of.convolution("narrow", of.input("other"), 1, narrow_form))), 0u);
}

TEST(MergeConvolutions, LeavesActivatedOnes) {
  ParallelConvolutions of;
  const ValueId x = of.input(), wide = of.convolution("wide", x, 3, wide_form);
  EXPECT_EQ(of.count_merged(of.sum(wide, of.convolution("narrow", x, 1, narrow_form, Activation::relu))), 0u);
}

TEST(MergeConvolutions, LeavesThoseWhoseWindowsHaveOtherCentres) {
  ParallelConvolutions of;
  const ValueId x = of.input();
  const ValueId wide = of.convolution("wide", x, 4, {.stride = 2, .padding = 1});  // 3x3 pixels, as the other's
  EXPECT_EQ(of.count_merged(of.sum(wide, of.convolution("narrow", x, 1, {.stride = 2}))), 0u);
}

TEST(MergeConvolutions, LeavesNoParallelConvolutionInPpYoloe) {
  PpYoloeSpec spec;
  spec.classes = 3;
  spec.image_size = 64;
  const Graph graph = make_pp_yoloe(spec)->build(2, Mode::evaluation);
  const std::vector<std::string> outputs{tensor_names::class_logits, tensor_names::box_bins};
  const DeployedGraph deployed = build_deployed_graph(graph, outputs, {});
  EXPECT_EQ(deployed.merged.size(), 6u + 5u) << "blocks of the backbone's stages and of the neck's";
  for (const Node& node : deployed.graph.nodes()) {
    EXPECT_EQ(node.name.find(".conv2.conv2"), std::string::npos) << node.name;
    EXPECT_FALSE(node.name.ends_with(".scaled")) << node.name;
  }
}

TEST(MergeConvolutions, AddsFiltersAtTheCentre) {
  const Shape whole{2, 3, 3, 2}, part{2, 1, 1, 2};
  std::vector<float> wide(36), filters(36), bias(2);
  std::iota(wide.begin(), wide.end(), 1.0f);
  const std::vector<float> wide_bias{10, 20}, narrow{100, 200, 300, 400}, narrow_bias{1, 2};
  add_convolution({wide, wide_bias}, whole, whole, filters, bias);
  EXPECT_EQ(filters, wide);
  EXPECT_EQ(bias, wide_bias);
  add_convolution({narrow, narrow_bias, -0.5f}, part, whole, filters, bias);
  std::vector<float> expected = wide;
  expected[8] -= 50, expected[9] -= 100, expected[18 + 8] -= 150, expected[18 + 9] -= 200;
  EXPECT_EQ(filters, expected);
  EXPECT_EQ(bias, (std::vector<float>{9.5f, 19}));
}

}  // namespace
}  // namespace ptrain

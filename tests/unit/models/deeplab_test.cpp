// DeepLab's size, names, dilations and the head that only training computes.
#include "models/vision/deeplab.h"

#include "core/base/errors.h"
#include "core/data/tensor_names.h"
#include "core/ops/image/conv2d.h"
#include "core/ops/normalization/group_norm.h"
#include "models/vision/deeplab_xception.h"

#include <gtest/gtest.h>

#include <algorithm>
#include <numeric>
#include <set>

namespace ptrain {
namespace {

DeepLabSpec voc_spec(DeepLabForm form, int output_stride) {
  DeepLabSpec spec;
  spec.deeplab = form;
  spec.classes = 21;
  spec.image_size = 64;
  spec.output_stride = output_stride;
  return spec;
}

std::set<std::string> tensor_names_of(const Model& model) {
  std::set<std::string> names;
  for (const WeightMapping& mapping : model.weights()) names.insert(mapping.external);
  return names;
}

std::int64_t count_parameters(const Model& model) {
  std::int64_t count = 0;
  for (const WeightMapping& mapping : model.weights()) {
    if (!is_running_statistic(mapping.variable)) count += mapping.external_shape.count();
  }
  return count;
}

const Conv2dAttributes& find_convolution(const Graph& graph, std::string_view name) {
  const auto node = std::ranges::find(graph.nodes(), name, &Node::name);
  EXPECT_NE(node, graph.nodes().end()) << name;
  return dynamic_cast<const Conv2d&>(*node->op).attrs();
}

TEST(DeepLab, HasTorchvisionsSizeAndNames) {
  const auto model = make_deeplab(voc_spec(DeepLabForm::v3, 8));
  EXPECT_EQ(count_parameters(*model), 42'004'074);
  const std::set<std::string> names = tensor_names_of(*model);
  for (const char* name :
       {"backbone.conv1.weight", "backbone.layer4.2.bn3.running_var", "backbone.layer3.0.downsample.1.bias",
        "classifier.0.convs.0.0.weight", "classifier.0.convs.3.1.weight", "classifier.0.convs.4.1.weight",
        "classifier.0.convs.4.2.running_mean", "classifier.0.project.0.weight", "classifier.1.weight",
        "classifier.2.bias", "classifier.4.bias", "aux_classifier.0.weight", "aux_classifier.1.running_mean",
        "aux_classifier.4.weight"}) {
    EXPECT_TRUE(names.contains(name)) << name;
  }
}

TEST(DeepLab, ComputesTheAuxiliaryHeadInTrainingAlone) {
  const auto model = make_deeplab(voc_spec(DeepLabForm::v3, 8));
  const auto is_auxiliary = [](const Node& node) { return node.name.starts_with("aux"); };
  const Graph training = model->build(2, Mode::training), evaluation = model->build(1, Mode::evaluation);
  EXPECT_TRUE(std::ranges::any_of(training.nodes(), is_auxiliary));
  EXPECT_NE(training.find_output(tensor_names::auxiliary), no_value);
  EXPECT_FALSE(std::ranges::any_of(evaluation.nodes(), is_auxiliary));
  EXPECT_EQ(evaluation.find_output(tensor_names::auxiliary), no_value);
  EXPECT_NE(evaluation.find_value("aux_classifier.0.weight"), no_value) << "weights files have it";
}

TEST(DeepLab, RefusesToTrainOnOneImageAtATime) {
  const auto model = make_deeplab(voc_spec(DeepLabForm::v3, 8));
  EXPECT_THROW(model->build(1, Mode::training), Error);
}

TEST(DeepLab, DilatesWhereItLeavesOutStrides) {
  const Graph eighth = make_deeplab(voc_spec(DeepLabForm::v3, 8))->build(1, Mode::evaluation);
  EXPECT_EQ(find_convolution(eighth, "backbone.layer2.0.conv2").stride, 2);
  EXPECT_EQ(find_convolution(eighth, "backbone.layer3.0.conv2").stride, 1);
  EXPECT_EQ(find_convolution(eighth, "backbone.layer3.0.conv2").dilation, 1);
  EXPECT_EQ(find_convolution(eighth, "backbone.layer3.1.conv2").dilation, 2);
  EXPECT_EQ(find_convolution(eighth, "backbone.layer4.0.conv2").dilation, 2);
  EXPECT_EQ(find_convolution(eighth, "backbone.layer4.2.conv2").dilation, 4);
  EXPECT_EQ(find_convolution(eighth, "classifier.0.convs.3.0").dilation, 36);
  const Graph sixteenth = make_deeplab(voc_spec(DeepLabForm::v3_plus, 16))->build(1, Mode::evaluation);
  EXPECT_EQ(find_convolution(sixteenth, "backbone.layer3.0.conv2").stride, 2);
  EXPECT_EQ(find_convolution(sixteenth, "backbone.layer4.1.conv2").dilation, 2);
  EXPECT_EQ(find_convolution(sixteenth, "classifier.aspp.convs.1.0").dilation, 6);
  EXPECT_EQ(sixteenth.desc(sixteenth.find_output(tensor_names::logits)).shape, (Shape{1, 64, 64, 21}));
}

TEST(DeepLab, StartsFromAClassifiersBackbone) {
  const auto model = make_deeplab(voc_spec(DeepLabForm::v3_plus, 16));
  for (const WeightMapping& mapping : model->weights()) {
    const bool is_body = mapping.external.starts_with("backbone.");
    EXPECT_EQ(mapping.part == WeightMapping::Part::body, is_body) << mapping.external;
    if (mapping.external == "backbone.layer1.0.bn1.weight") {
      EXPECT_EQ(mapping.other_names, std::vector<std::string>{"layer1.0.bn1.weight"});
    }
    if (mapping.external == "classifier.classifier.3.weight") {
      EXPECT_EQ(mapping.part, WeightMapping::Part::classifier);
    }
  }
}

DeepLabXceptionSpec xception_spec(XceptionNorm norm) {
  DeepLabXceptionSpec spec;
  spec.norm = norm;
  spec.classes = 21;
  spec.image_size = 64;
  return spec;
}

TEST(DeepLabXception, HasThePublishedSizeAndStrides) {
  const auto model = make_deeplab_xception(xception_spec(XceptionNorm::batch));
  EXPECT_EQ(count_parameters(*model), 41'055'413);  // by hand; as Keras' DeepLabV3+ of 21 classes
  const Graph graph = model->build(1, Mode::evaluation);
  const auto shape_of = [&](std::string_view name) {
    return graph.desc(std::ranges::find(graph.nodes(), name, &Node::name)->outputs[0]).shape;
  };
  EXPECT_EQ(shape_of("backbone.entry_flow.block2.separable_conv2.pointwise"), (Shape{1, 16, 16, 256})) << "low level";
  EXPECT_EQ(shape_of("backbone.exit_flow.block2.separable_conv3.pointwise"), (Shape{1, 4, 4, 2048}));
  EXPECT_EQ(graph.desc(graph.find_output(tensor_names::logits)).shape, (Shape{1, 64, 64, 21}));
  const Conv2dAttributes& last = find_convolution(graph, "backbone.exit_flow.block2.separable_conv3.depthwise");
  EXPECT_EQ(last.dilation, 2);
  EXPECT_EQ(last.groups, 1536);
}

TEST(DeepLabXception, NormalisesGroupsWhereBatchesAreOfOneImage) {
  EXPECT_THROW(make_deeplab_xception(xception_spec(XceptionNorm::batch))->build(1, Mode::training), Error);
  const auto model = make_deeplab_xception(xception_spec(XceptionNorm::group));
  const Graph graph = model->build(1, Mode::training);
  const auto norm =
      std::ranges::find(graph.nodes(), "backbone.middle_flow.block1.separable_conv1.pointwise.norm", &Node::name);
  ASSERT_NE(norm, graph.nodes().end());
  EXPECT_EQ(dynamic_cast<const GroupNorm&>(*norm->op).attrs().groups, 28) << "the most up to 32 that divide 728";
  EXPECT_EQ(count_parameters(*model), 41'055'413);
}

}  // namespace
}  // namespace ptrain

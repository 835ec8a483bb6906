#include "models/vision/resnet.h"

#include "core/data/tensor_names.h"
#include "core/ops/dropout.h"
#include "tests/small_models.h"

#include <gtest/gtest.h>

#include <map>

namespace ptrain {
namespace {

ResNetSpec small_spec() {
  ResNetSpec spec;
  spec.classes = 5;
  spec.image_size = 32;
  spec.segments = 3;
  spec.dropout = 0.4f;
  return spec;
}

TEST(SegmentNetwork, AnswersForClipsOfSeveralImages) {
  const std::unique_ptr<Model> model = make_resnet(small_spec());
  EXPECT_EQ(model->name(), "tsn_resnet50");
  EXPECT_EQ(model->sample(), "clip");
  const Graph graph = testing::with_losses(*model, 4, Mode::training);
  EXPECT_EQ(graph.desc(graph.find_value(tensor_names::images)).shape, (Shape{12, 32, 32, 3}));
  EXPECT_EQ(graph.desc(graph.find_value(tensor_names::labels)).shape, (Shape{4}));
  EXPECT_EQ(graph.desc(graph.find_output(tensor_names::logits)).shape, (Shape{4, 5}));
}

// mmaction2's TSNHead: pooling, consensus, dropout, classifier.
TEST(SegmentNetwork, DropsOutFeaturesThatAreMeansOverTheFrames) {
  const Graph graph = make_resnet(small_spec())->build(4, Mode::training);
  int found = 0;
  for (const Node& node : graph.nodes()) {
    const auto* dropout = dynamic_cast<const Dropout*>(node.op.get());
    if (dropout == nullptr) continue;
    ++found;
    EXPECT_EQ(dropout->attrs().p, 0.4f);
    EXPECT_EQ(graph.desc(node.inputs[0]).shape, (Shape{4, 2048}));
    EXPECT_EQ(graph.node(graph.value(node.inputs[0]).producer).op->type(), "global_average_pool");
  }
  EXPECT_EQ(found, 1);
}

TEST(SegmentNetwork, HasMmactionsNamesInFilesAndTakesTorchvisions) {
  std::map<std::string, WeightMapping> files;
  for (const WeightMapping& mapping : make_resnet(small_spec())->weights()) files[mapping.external] = mapping;
  const std::map<std::string, std::string> expected{
      {"backbone.conv1.conv.weight", "conv1.weight"},
      {"backbone.conv1.bn.running_mean", "bn1.running_mean"},
      {"backbone.layer1.0.conv3.conv.weight", "layer1.0.conv3.weight"},
      {"backbone.layer1.0.conv3.bn.bias", "layer1.0.bn3.bias"},
      {"backbone.layer4.0.downsample.conv.weight", "layer4.0.downsample.0.weight"},
      {"backbone.layer4.0.downsample.bn.running_var", "layer4.0.downsample.1.running_var"},
      {"cls_head.fc_cls.weight", "fc.weight"},
      {"cls_head.fc_cls.bias", "fc.bias"}};
  for (const auto& [name, torchvisions] : expected) {
    ASSERT_TRUE(files.contains(name)) << name;
    EXPECT_EQ(files[name].other_names, std::vector<std::string>{torchvisions});
    EXPECT_EQ(files[name].variable, torchvisions);
  }
  EXPECT_EQ(files["backbone.layer2.1.conv2.bn.running_mean"].step_counter,
            "backbone.layer2.1.conv2.bn.num_batches_tracked");
  EXPECT_TRUE(files["cls_head.fc_cls.weight"].part == WeightMapping::Part::classifier);
  ResNetSpec images = small_spec();
  images.segments = 0;
  EXPECT_EQ(files.size(), make_resnet(images)->weights().size());
}

}  // namespace
}  // namespace ptrain

#include "models/vision/retinanet.h"
#include "core/data/tensor_names.h"
#include "core/ops/detection/anchors.h"
#include "tests/error_message.h"

#include <gtest/gtest.h>

#include <algorithm>
#include <set>

namespace ptrain {
namespace {

RetinaNetSpec published_retinanet_spec() {
  RetinaNetSpec spec;
  spec.classes = 91;
  spec.image_size = 128;
  spec.zero_init_residual = false;
  return spec;
}

/// As files have them: the first convolution has a fourth channel here.
std::int64_t count_parameters(const RetinaNetSpec& spec) {
  const std::unique_ptr<Model> model = make_retinanet(spec);
  const Graph graph = model->build(1, Mode::training);
  std::int64_t count = 0;
  for (const WeightMapping& mapping : model->weights()) {
    const bool trained = graph.value(graph.find_value(mapping.variable)).storage == Storage::parameter;
    count += trained ? mapping.external_shape.count() : 0;
  }
  return count;
}

TEST(RetinaNet, HasTheParametersOfTorchvisions) {
  EXPECT_EQ(count_parameters(published_retinanet_spec()), 34'014'999);
  RetinaNetSpec trained = published_retinanet_spec();
  trained.frozen_norms = false;
  EXPECT_EQ(count_parameters(trained), 34'014'999 + 53'120);
}

TEST(RetinaNet, HasTheNamesOfTorchvisions) {
  std::set<std::string> names;
  for (const WeightMapping& mapping : make_retinanet(published_retinanet_spec())->weights())
    names.insert(mapping.external);
  for (const char* name : {"backbone.body.conv1.weight", "backbone.body.bn1.running_var",
                           "backbone.body.layer4.2.conv3.weight", "backbone.body.layer2.0.downsample.1.bias",
                           "backbone.fpn.inner_blocks.2.0.weight", "backbone.fpn.layer_blocks.0.0.bias",
                           "backbone.fpn.extra_blocks.p7.weight", "head.classification_head.conv.3.0.weight",
                           "head.classification_head.cls_logits.bias", "head.regression_head.bbox_reg.weight"}) {
    EXPECT_TRUE(names.contains(name)) << name;
  }
  EXPECT_EQ(names.size(), 5 * 53U + 2 * (6 + 2 + 2 * 5)) << "convolutions and norms of the body; pyramid and heads";
}

TEST(RetinaNet, HasOutputsForEveryAnchor) {
  for (const ImageSize size : {ImageSize(128), ImageSize(96, 160), ImageSize(32, 64)}) {
    const Bucket batch(2, {{extent_names::height, size.height}, {extent_names::width, size.width}});
    const Graph graph = make_retinanet(published_retinanet_spec())->build(batch, Mode::evaluation);
    const std::int64_t anchors = make_anchors(retinanet_anchors, size.height, size.width).count();
    EXPECT_EQ(graph.desc(graph.find_output(tensor_names::class_logits)).shape, (Shape{2, anchors, 91}));
    EXPECT_EQ(graph.desc(graph.find_output(tensor_names::box_deltas)).shape, (Shape{2, anchors, 4}));
  }
}

TEST(RetinaNet, NeedsSidesOfMultiplesOf32Pixels) {
  RetinaNetSpec spec = published_retinanet_spec();
  spec.image_size = ImageSize(64, 100);
  EXPECT_EQ(get_error([&] { make_retinanet(spec)->build(1, Mode::training); }, ExitCode::usage),
            "data.image_size or train.multi_scale: retinanet_resnet50_fpn needs multiples of 32 px, got 64x100");
}

}  // namespace
}  // namespace ptrain

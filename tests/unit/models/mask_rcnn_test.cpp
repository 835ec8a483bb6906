#include "models/vision/mask_rcnn.h"
#include "core/data/tensor_names.h"
#include "core/ops/detection/anchors.h"
#include "tests/error_message.h"

#include <gtest/gtest.h>

#include <set>

namespace ptrain {
namespace {

MaskRcnnSpec published_spec() {
  MaskRcnnSpec spec;
  spec.classes = 90;
  spec.image_size = 128;
  spec.zero_init_residual = false;
  return spec;
}

Shape shape_of_output(const Graph& graph, const char* name) { return graph.desc(graph.find_output(name)).shape; }

TEST(MaskRcnn, HasTheParametersOfTorchvisions) {
  const std::unique_ptr<Model> model = make_mask_rcnn(published_spec());
  const Graph graph = model->build(1, Mode::training);
  std::int64_t count = 0;
  for (const WeightMapping& mapping : model->weights()) {  // as files have them: the first convolution has a fourth
                                                           // channel here
    const bool trained = graph.value(graph.find_value(mapping.variable)).storage == Storage::parameter;
    count += trained ? mapping.external_shape.count() : 0;
  }
  EXPECT_EQ(count, 44'401'393);
}

TEST(MaskRcnn, HasTheNamesOfTorchvisions) {
  std::set<std::string> names, older;
  for (const WeightMapping& mapping : make_mask_rcnn(published_spec())->weights()) {
    names.insert(mapping.external);
    older.insert(mapping.other_names.begin(), mapping.other_names.end());
  }
  for (const char* name :
       {"backbone.body.conv1.weight", "backbone.fpn.inner_blocks.3.0.weight", "backbone.fpn.layer_blocks.0.0.bias",
        "rpn.head.conv.0.0.weight", "rpn.head.cls_logits.bias", "rpn.head.bbox_pred.weight",
        "roi_heads.box_head.fc6.weight", "roi_heads.box_head.fc7.bias", "roi_heads.box_predictor.cls_score.weight",
        "roi_heads.box_predictor.bbox_pred.bias", "roi_heads.mask_head.3.0.weight",
        "roi_heads.mask_predictor.conv5_mask.weight", "roi_heads.mask_predictor.mask_fcn_logits.bias"}) {
    EXPECT_TRUE(names.contains(name)) << name;
  }
  EXPECT_EQ(names.size(), 5 * 53U + 2 * (8 + 3 + 4 + 4 + 2)) << "convolutions and norms of the body; pyramid and heads";
  for (const char* name : {"rpn.head.conv.weight", "roi_heads.mask_head.mask_fcn4.bias", "layer4.2.conv3.weight"}) {
    EXPECT_TRUE(older.contains(name)) << name;
  }
}

TEST(MaskRcnn, FindsBoxesAndMasks) {
  const Graph graph = make_mask_rcnn(published_spec())->build(2, Mode::deployment);
  EXPECT_EQ(shape_of_output(graph, tensor_names::detections), (Shape{2, 100, 6}));
  EXPECT_EQ(shape_of_output(graph, tensor_names::mask_probabilities), (Shape{2, 100, 28, 28}));
  EXPECT_EQ(graph.find_value(tensor_names::object_boxes), no_value) << "it knows no objects";
}

MaskRcnnSpec single_map_spec() {
  MaskRcnnSpec spec = mask_rcnn_c4_spec({}, {});
  spec.classes = 90;
  spec.image_size = 128;
  return spec;
}

TEST(MaskRcnnC4, HasTheResNetsLastStageInItsHeads) {
  std::set<std::string> names, others;
  for (const WeightMapping& mapping : make_mask_rcnn(single_map_spec())->weights()) {
    EXPECT_TRUE(names.insert(mapping.external).second) << mapping.external;
    others.insert(mapping.other_names.begin(), mapping.other_names.end());
  }
  for (const char* name :
       {"backbone.body.layer3.5.conv3.weight", "rpn.head.conv.0.0.weight",
        "roi_heads.box_head.layer4.0.downsample.1.running_var", "roi_heads.box_head.layer4.2.conv3.weight",
        "roi_heads.box_predictor.cls_score.weight", "roi_heads.mask_predictor.conv5_mask.weight"}) {
    EXPECT_TRUE(names.contains(name)) << name;
  }
  EXPECT_EQ(names.size(), 5 * 53U + 2 * (3 + 2 + 2)) << "convolutions and norms of the ResNet; heads";
  EXPECT_TRUE(others.contains("layer3.5.conv3.weight"));
  EXPECT_TRUE(others.contains("layer4.2.conv3.weight"));
}

TEST(MaskRcnnC4, LooksAtRegionsOfBoxesAndMasksByTheSameVariables) {
  const std::unique_ptr<Model> model = make_mask_rcnn(single_map_spec());
  const Graph graph = model->build(2, Mode::deployment);
  EXPECT_EQ(shape_of_output(graph, tensor_names::detections), (Shape{2, 100, 6}));
  EXPECT_EQ(shape_of_output(graph, tensor_names::mask_probabilities), (Shape{2, 100, 14, 14}));
  const auto read = [&](const std::string& node) {
    return graph.node(graph.value(graph.find_value(node)).producer).inputs[1];
  };
  const std::string conv = "roi_heads.box_head.layer4.2.conv3";
  EXPECT_EQ(read(conv), read(conv + ".masks"));
  EXPECT_EQ(shape_of_output(model->build(2, Mode::training), tensor_names::mask_logits), (Shape{2, 128, 14, 14}));
}

TEST(MaskRcnnC4, HasAnchorsOfFiveSizesOnOneMap) {
  const AnchorGrid anchors = make_anchors(single_map_anchors, 96, 160);
  EXPECT_EQ(anchors.levels, 1);
  EXPECT_EQ(anchors.count(), 15 * 6 * 10);
  std::vector<float> widths;  // of squares
  for (int i = 5; i < 10; ++i) widths.push_back(2 * anchors.level[0].shapes[i].x1);
  EXPECT_EQ(widths, (std::vector<float>{32, 64, 128, 256, 512}));
  const Bucket batch(2, {{extent_names::height, 96}, {extent_names::width, 160}});
  const Graph graph = make_mask_rcnn(single_map_spec())->build(batch, Mode::training);
  EXPECT_EQ(shape_of_output(graph, tensor_names::class_logits), (Shape{2, anchors.count(), 1}));
}

TEST(MaskRcnn, LearnsFromSamplesOfAnchorsAndRegions) {
  const std::unique_ptr<Model> model = make_mask_rcnn(published_spec());
  const Bucket batch(2, {{extent_names::height, 96},
                         {extent_names::width, 160},
                         {extent_names::objects, 7},
                         {extent_names::mask_runs, 50}});
  EXPECT_EQ(model->bucket_for(batch, Mode::training), batch);
  EXPECT_EQ(model->bucket_for(batch, Mode::evaluation).get(extent_names::objects), 0);
  const Graph graph = model->build(batch, Mode::training);
  const std::int64_t anchors = make_anchors(proposal_anchors, 96, 160).count();
  EXPECT_EQ(anchors, 3 * (24 * 40 + 12 * 20 + 6 * 10 + 3 * 5 + 2 * 3));
  EXPECT_EQ(shape_of_output(graph, tensor_names::class_logits), (Shape{2, anchors, 1}));
  EXPECT_EQ(shape_of_output(graph, tensor_names::anchor_sample), (Shape{2, 256}));
  EXPECT_EQ(shape_of_output(graph, tensor_names::region_boxes), (Shape{2, 512, 6}));
  EXPECT_EQ(shape_of_output(graph, tensor_names::region_logits), (Shape{2, 512, 91}));
  EXPECT_EQ(shape_of_output(graph, tensor_names::mask_logits), (Shape{2, 128, 28, 28}));
  EXPECT_EQ(graph.desc(graph.find_value(tensor_names::object_masks)).shape, (Shape{2, 50}));
}

TEST(MaskRcnn, NeedsSidesOfMultiplesOf32Pixels) {
  MaskRcnnSpec spec = published_spec();
  spec.image_size = ImageSize(64, 100);
  EXPECT_EQ(get_error([&] { make_mask_rcnn(spec)->build(1, Mode::training); }, ExitCode::usage),
            "data.image_size or train.multi_scale: maskrcnn_resnet50_fpn needs multiples of 32 px, got 64x100");
}

}  // namespace
}  // namespace ptrain

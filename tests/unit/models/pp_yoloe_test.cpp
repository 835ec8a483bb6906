#include "models/vision/pp_yoloe.h"
#include "core/data/tensor_names.h"
#include "core/ops/detection/anchors.h"
#include "tests/error_message.h"

#include <gtest/gtest.h>

#include <array>
#include <set>

namespace ptrain {
namespace {

PpYoloeSpec published_yoloe_spec() {
  PpYoloeSpec spec;
  spec.classes = 80;
  spec.image_size = 64;
  return spec;
}

bool is_running_statistic_in_files(const std::string& name) {
  return name.ends_with("._mean") || name.ends_with("._variance");
}

/// As files have them; `counts(name)` says which.
template <typename Counts>
std::int64_t count_yoloe_parameters(const Counts& counts) {
  std::int64_t count = 0;
  for (const WeightMapping& mapping : make_pp_yoloe(published_yoloe_spec())->weights()) {
    if (!is_running_statistic_in_files(mapping.external) && counts(mapping.external)) {
      count += mapping.external_shape.count();
    }
  }
  return count;
}

TEST(PpYoloe, HasThePublishedNumberOfParameters) {
  EXPECT_EQ(count_yoloe_parameters([](const std::string&) { return true; }), 8'084'594);
  const auto is_kept = [](const std::string& name) {  // when the convolutions of one pixel are merged into those beside
    return name.find(".conv2.conv2.") == std::string::npos && !name.ends_with(".alpha");
  };
  EXPECT_EQ(count_yoloe_parameters(is_kept), 7'927'388) << "PaddleDetection says 7.93 M";
}

TEST(PpYoloe, HasTheNamesOfPaddleDetections) {
  std::set<std::string> names;
  for (const WeightMapping& mapping : make_pp_yoloe(published_yoloe_spec())->weights()) names.insert(mapping.external);
  for (const char* name :
       {"backbone.stem.conv1.conv.weight", "backbone.stem.conv3.bn._variance",
        "backbone.stages.0.conv_down.conv.weight", "backbone.stages.1.blocks.1.conv2.conv1.bn._mean",
        "backbone.stages.2.blocks.0.conv2.alpha", "backbone.stages.3.attn.fc.bias",
        "neck.fpn_stages.0.0.convs.spp.conv.conv.weight", "neck.fpn_stages.2.0.convs.0.conv2.conv2.bn.weight",
        "neck.fpn_routes.1.bn.bias", "neck.pan_routes.0.conv.weight", "neck.pan_stages.1.0.conv3.conv.weight",
        "yolo_head.stem_cls.0.fc.weight", "yolo_head.stem_reg.2.conv.bn.weight", "yolo_head.pred_cls.1.bias",
        "yolo_head.pred_reg.2.weight"}) {
    EXPECT_TRUE(names.contains(name)) << name;
  }
}

TEST(PpYoloe, HasOutputsForEveryCell) {
  for (const ImageSize size : {ImageSize(64), ImageSize(96, 160)}) {
    const Bucket batch(2, {{extent_names::height, size.height}, {extent_names::width, size.width}});
    const Graph graph = make_pp_yoloe(published_yoloe_spec())->build(batch, Mode::evaluation);
    constexpr std::array<std::int32_t, 3> strides{32, 16, 8};
    const std::int64_t cells = make_cells(strides, size.height, size.width).count();
    EXPECT_EQ(graph.desc(graph.find_output(tensor_names::class_logits)).shape, (Shape{2, cells, 80}));
    EXPECT_EQ(graph.desc(graph.find_output(tensor_names::box_bins)).shape, (Shape{2, cells, 68}));
  }
}

TEST(PpYoloe, NeedsSidesOfMultiplesOf32Pixels) {
  PpYoloeSpec spec = published_yoloe_spec();
  spec.image_size = ImageSize(64, 100);
  EXPECT_EQ(get_error([&] { make_pp_yoloe(spec)->build(1, Mode::training); }, ExitCode::usage),
            "data.image_size or train.multi_scale: ppyoloe_plus_s needs multiples of 32 px, got 64x100");
}

}  // namespace
}  // namespace ptrain

// Targets, losses and answers of detection whose targets follow from predictions.
#include "core/tasks/detection/aligned_detection.h"
#include "core/data/boxes/annotated_images.h"
#include "core/data/image/framing.h"
#include "core/ops/detection/anchors.h"
#include "core/ops/detection/detect_objects.h"

#include <gtest/gtest.h>

#include <array>

namespace ptrain {
namespace {

TEST(Cells, CoverTheImageLevelByLevel) {
  constexpr std::array<std::int32_t, 3> strides{32, 16, 8};
  const AnchorGrid cells = make_cells(strides, 64, 96);
  EXPECT_EQ(cells.count(), 6 + 24 + 96);
  const CornerBox second = cells.at(1), last = cells.at(125);
  EXPECT_EQ((std::array{second.x0, second.y0, second.x1, second.y1}), (std::array{32.0f, 0.0f, 64.0f, 32.0f}));
  EXPECT_EQ((std::array{last.x0, last.y0, last.x1, last.y1}), (std::array{88.0f, 56.0f, 96.0f, 64.0f}));
  const SideDistances sides = encode_distances({30, 4, 60, 20}, second);
  EXPECT_EQ((std::array{sides.left, sides.top, sides.right, sides.bottom}),
            (std::array{18 / 32.0f, 12 / 32.0f, 12 / 32.0f, 4 / 32.0f}));
}

TEST(AlignedDetection, ListsTheObjectsThatAreLearnt) {
  Batch batch;
  batch.add(tensor_names::images, {64, 64, 3}, std::vector<std::uint8_t>(std::size_t{64} * 64 * 3));
  batch.add(placement_tensor());
  batch.add(annotation_tensor(3));
  batch.count = 1;
  write_placement(fit_inside({16, 32}, {64, 64}), batch.at(tensor_names::placements).row<float>(0));
  const std::vector<AnnotatedObject> objects{{0, {0, 0, 32, 16}, 512, true}, {1, {2, 0, 16, 16}, 256, false}};
  write_objects(objects, batch.at(tensor_names::annotations).row<std::int64_t>(0));
  AlignedDetection(TaskOptions{}).collate(batch);
  const auto rows = batch.values<float>(tensor_names::object_boxes);
  EXPECT_EQ(std::vector<float>(rows.begin(), rows.end()),
            (std::vector<float>{4, 0, 36, 32, 1, 1, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0}));
}

/// The outputs of a detector of two classes, as inputs.
Graph make_outputs() {
  Graph graph;
  graph.add_input(tensor_names::images, {DType::u8, Shape{1, 32, 64, 3}});
  const std::int64_t cells = 2 + 8 + 32;
  graph.set_output(tensor_names::class_logits, graph.add_input("logits", {DType::f32, Shape{1, cells, 2}}));
  graph.set_output(tensor_names::box_bins, graph.add_input("bins", {DType::f32, Shape{1, cells, 68}}));
  return graph;
}

TEST(AlignedDetection, HasThreeLossesInTraining) {
  const AlignedDetection task(TaskOptions{});
  EXPECT_TRUE(task.has_losses(Mode::training));
  EXPECT_FALSE(task.has_losses(Mode::evaluation));
  Graph graph = make_outputs();
  graph.add_input(tensor_names::object_boxes, {DType::f32, Shape{1, 5, 6}});
  std::vector<std::pair<std::string, float>> weights;
  for (const Loss& loss : task.add_losses(graph, Mode::training)) {
    EXPECT_EQ(graph.desc(loss.value).shape.rank(), 0);
    weights.emplace_back(loss.name, loss.weight);
  }
  EXPECT_EQ(weights, (std::vector<std::pair<std::string, float>>{
                         {"classification", 1.0f}, {"giou", 2.5f}, {"distribution", 0.5f}}));
}

TEST(AlignedDetection, AnswersWithDetectionsAlone) {
  Graph graph = make_outputs();
  AlignedDetection(TaskOptions{}).postprocess(graph);
  ASSERT_EQ(graph.outputs().size(), 1U);
  EXPECT_EQ(graph.desc(graph.find_output(tensor_names::detections)).shape, (Shape{1, 300, 6}));
}

}  // namespace
}  // namespace ptrain

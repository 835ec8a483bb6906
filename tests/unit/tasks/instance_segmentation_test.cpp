// Targets, metrics and answers of instance segmentation.
#include "core/tasks/detection/instance_segmentation.h"
#include "core/data/boxes/annotated_images.h"
#include "core/data/image/framing.h"
#include "core/ops/math/boxes.h"
#include "core/tasks/detection/instance_metrics.h"
#include "core/tasks/detection/paste_mask.h"

#include <gtest/gtest.h>

namespace ptrain {
namespace {

constexpr std::size_t mask_side = 28;  // px, of masks

std::vector<float> full_mask() { return std::vector<float>(mask_side * mask_side, 1.0f); }

TEST(PasteMask, FillsTheBoxToWholePixels) {
  // With its border the box goes from 9 to 39 and from 19 to 49, 31 px, of which the first and the last are the border.
  const RunLengths mask = paste_mask(full_mask(), {10, 20, 38, 48}, {64, 48});
  EXPECT_EQ(mask.area(), 29 * 29);
  ASSERT_EQ(mask.counts.size(), 2 * 29U + 1);
  EXPECT_EQ(mask.counts[0], 10 * 64 + 20);
  EXPECT_EQ(mask.counts[1], 29);
  EXPECT_EQ(mask.counts[2], 64 - 29);
}

TEST(PasteMask, IsCutAtTheEdges) {
  EXPECT_EQ(paste_mask(full_mask(), {-5, -5, 23, 23}, {10, 16}).counts, (std::vector<std::int64_t>{0, 160}));
  EXPECT_EQ(paste_mask(full_mask(), {40, 40, 60, 60}, {10, 16}).counts, (std::vector<std::int64_t>{160}));
  EXPECT_EQ(paste_mask(full_mask(), {8, -5, 30, 23}, {10, 16}).counts, (std::vector<std::int64_t>{80, 80}));
}

TEST(PasteMask, FollowsProbabilities) {
  std::vector<float> probabilities(mask_side * mask_side);
  for (std::size_t i = 0; i < probabilities.size(); ++i) probabilities[i] = i % mask_side < mask_side / 2 ? 0.9f : 0.1f;
  const RunLengths mask = paste_mask(probabilities, {0, 0, 56, 56}, {56, 56});
  EXPECT_NEAR(static_cast<double>(mask.area()), 28 * 56, 57) << "the left half";
}

/// One image of 64 px that was 32 x 16, doubled, with an object of class 1, a square of 16 px whose lower half is its
/// mask, and one that is not to be learnt.
Batch make_masked_batch() {
  Batch batch;
  batch.add(tensor_names::images, {64, 64, 3}, std::vector<std::uint8_t>(std::size_t{64} * 64 * 3));
  batch.add(placement_tensor());
  batch.add(annotation_tensor(3));
  batch.add(mask_tensor(80));
  batch.count = 1;
  write_placement(fit_inside({16, 32}, {64, 64}), batch.at(tensor_names::placements).row<float>(0));
  std::vector<AnnotatedObject> objects{{0, {0, 0, 32, 16}, 512, true}, {1, {2, 0, 16, 16}, 128, false}};
  std::vector<std::uint8_t> pixels(std::size_t{16} * 32);
  for (std::size_t y = 8; y < 16; ++y) std::fill_n(pixels.begin() + static_cast<std::ptrdiff_t>(y * 32 + 2), 16, 1);
  for (AnnotatedObject& one : objects) one.mask = format_run_lengths(encode_mask(pixels, 16, 32).counts);
  write_masks(objects, batch.at(tensor_names::object_masks).row<std::int32_t>(0));
  write_objects(objects, batch.at(tensor_names::annotations).row<std::int64_t>(0));
  return batch;
}

TEST(InstanceSegmentation, ListsTheObjectsThatAreLearnt) {
  Batch batch = make_masked_batch();
  InstanceSegmentation(TaskOptions{}).collate(batch);
  const auto boxes = batch.values<float>(tensor_names::object_boxes);
  EXPECT_EQ(std::vector<float>(boxes.begin(), boxes.begin() + 12),
            (std::vector<float>{4, 0, 36, 32, 1, 1, 0, 0, 0, 0, 0, 0}))
      << "no crowd; a row is that of a detection";
  const auto labels = batch.values<std::int32_t>(tensor_names::object_labels);
  EXPECT_EQ(std::vector<std::int32_t>(labels.begin(), labels.end()), (std::vector<std::int32_t>{2, 0, 0}));
  const auto ranges = batch.values<std::int32_t>(tensor_names::mask_ranges);
  EXPECT_EQ(ranges[0], ranges[1]) << "after the runs of the crowd, which has as many";
  EXPECT_GT(ranges[0], 0);
  const auto matches = batch.values<std::int32_t>(tensor_names::anchor_matches);
  EXPECT_GT(std::ranges::count(matches, 0), 0);
  EXPECT_GT(std::ranges::count(matches, BoxMatch::background), 0);
}

/// The object's box, and masks of which the lower half, or all of it, is probable.
Batch make_scores(bool halved) {
  std::vector<float> probabilities = full_mask();
  if (halved) std::fill_n(probabilities.begin(), mask_side * mask_side / 2, 0.0f);
  probabilities.resize(2 * probabilities.size());
  Batch scores;
  scores.add(tensor_names::detections, {2, 6}, std::vector<float>{4, 0, 36, 32, 0.9f, 1, 0, 0, 0, 0, 0, -1});
  scores.add(tensor_names::mask_probabilities, {2, mask_side, mask_side}, probabilities);
  scores.count = 1;
  return scores;
}

TEST(InstanceMetrics, CompareMasksInPixelsOfTheOriginalImage) {
  InstanceMetrics right, wrong;
  right.add_batch(make_masked_batch(), std::nullopt, make_scores(true));
  wrong.add_batch(make_masked_batch(), std::nullopt, make_scores(false));
  EXPECT_EQ(right.evaluation().primary()->name, "mask_map");
  EXPECT_GE(right.evaluation().primary_value().value(), 0.7);
  EXPECT_EQ(wrong.evaluation().find("mask_map75")->value, 0.0) << "the object is the lower half of its box";
  EXPECT_NEAR(wrong.evaluation().find("map")->value.value(), 1, 1e-9);
  InstanceMetrics merged;
  merged.merge(right.state());
  EXPECT_EQ(merged.state(), right.state());
}

TEST(InstanceSegmentation, AnswersWithMasksAsRunLengths) {
  const PredictionOptions form{.class_names = {"cat", "dog"}};
  const Prediction one =
      InstanceSegmentation(TaskOptions{}).predictions(make_masked_batch(), make_scores(true), form).front();
  const auto& objects = one.details.at("objects");
  ASSERT_EQ(objects.size(), 1U);
  EXPECT_EQ(objects[0].at("name"), "dog");
  EXPECT_EQ(objects[0].at("segmentation").at("size"), (Prediction::Json{16, 32}));
  const std::string counts = objects[0].at("segmentation").at("counts");
  EXPECT_EQ(parse_run_lengths(counts, "a mask"), one.objects[0].mask.counts);
  EXPECT_NEAR(static_cast<double>(one.objects[0].mask.area()), 128, 24);
}

}  // namespace
}  // namespace ptrain

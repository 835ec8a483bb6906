// Anchors, targets, metrics and answers of detection.
#include "core/tasks/detection/detection.h"
#include "core/base/rng.h"
#include "core/data/boxes/annotated_images.h"
#include "core/data/image/framing.h"
#include "core/tasks/detection/detection_metrics.h"
#include "core/tasks/detection/match_anchors.h"

#include <gtest/gtest.h>

namespace ptrain {
namespace {

std::array<float, 4> corners(const CornerBox& box) { return {box.x0, box.y0, box.x1, box.y1}; }

TEST(Anchors, AreThoseOfTorchvision) {
  const AnchorGrid grid = make_anchors(retinanet_anchors, 800, 1344);
  ASSERT_EQ(grid.levels, 5);
  EXPECT_EQ(grid.count(), 9 * (100 * 168 + 50 * 84 + 25 * 42 + 13 * 21 + 7 * 11));
  EXPECT_EQ(corners(grid.at(0)), (std::array<float, 4>{-23, -11, 23, 11}));
  EXPECT_EQ(corners(grid.at(3)), (std::array<float, 4>{-16, -16, 16, 16}));
  EXPECT_EQ(corners(grid.at(8)), (std::array<float, 4>{-18, -35, 18, 35}));
  EXPECT_EQ(corners(grid.at(9 * 169 + 3)), (std::array<float, 4>{8 - 16, 8 - 16, 8 + 16, 8 + 16}));
  const AnchorLevel& sixth = grid.level[3];
  EXPECT_EQ(sixth.stride_y, 61) << "800 / 13";
  EXPECT_EQ(sixth.stride_x, 64);
  EXPECT_EQ(corners(grid.at(sixth.first + 9 * 22 + 4)), (std::array<float, 4>{64 - 161, 61 - 161, 64 + 161, 61 + 161}));
}

/// As torchvision describes it: all pairs, the best object of each anchor, and the best anchors of each object.
AnchorMatches match_all(const AnchorGrid& grid, const std::vector<CornerBox>& objects) {
  AnchorMatches matches;
  std::vector<float> best_of(objects.size());
  for (std::int64_t anchor = 0; anchor < grid.count(); ++anchor) {
    for (std::size_t i = 0; i < objects.size(); ++i)
      best_of[i] = std::max(best_of[i], intersection_over_union(objects[i], grid.at(anchor)));
  }
  for (std::int64_t anchor = 0; anchor < grid.count(); ++anchor) {
    float best = 0;
    std::int32_t object = -1;
    bool is_best = false;
    for (std::size_t i = 0; i < objects.size(); ++i) {
      const float overlap = intersection_over_union(objects[i], grid.at(anchor));
      if (overlap > best) object = static_cast<std::int32_t>(i);
      best = std::max(best, overlap);
      is_best = is_best || (overlap > 0 && overlap == best_of[i]);
    }
    const bool positive = best >= 0.5f || is_best;
    matches.objects.push_back(positive ? object : best < 0.4f ? BoxMatch::background : BoxMatch::ignored);
    matches.positives += positive ? 1 : 0;
  }
  return matches;
}

TEST(Anchors, MatchObjectsAsAllPairsDo) {
  const AnchorGrid grid = make_anchors(retinanet_anchors, 96, 160);
  const RandomStream random{1, 0, 0};
  for (std::uint64_t round = 0; round < 10; ++round) {
    std::vector<CornerBox> objects;
    for (std::uint64_t i = 0; i < 1 + round; ++i) {
      const auto number = [&](std::uint64_t j, float most) {
        return std::floor(most * random.uniform(64 * round + 8 * i + j));
      };
      const float x = number(0, 150), y = number(1, 90);
      objects.push_back({x, y, std::min(160.0f, x + 2 + number(2, 90)), std::min(96.0f, y + 2 + number(3, 90))});
    }
    const AnchorMatches found = match_anchors(retinanet_anchors, grid, objects), expected = match_all(grid, objects);
    EXPECT_EQ(found.objects, expected.objects);
    EXPECT_EQ(found.positives, expected.positives);
    EXPECT_GE(found.positives, 1);
  }
}

TEST(Anchors, WithoutObjectsAreBackground) {
  const AnchorMatches matches = match_anchors(retinanet_anchors, make_anchors(retinanet_anchors, 64, 64), {});
  EXPECT_EQ(matches.positives, 0);
  EXPECT_TRUE(std::ranges::all_of(matches.objects, [](std::int32_t one) { return one == BoxMatch::background; }));
}

/// One image of 64 px that was 32 x 16, doubled, with an object of class 1 and one that is not to be learnt.
Batch make_batch(Mirror mirror = Mirror::no) {
  Batch batch;
  batch.add(tensor_names::images, {64, 64, 3}, std::vector<std::uint8_t>(std::size_t{64} * 64 * 3));
  batch.add(placement_tensor());
  batch.add(annotation_tensor(3));
  batch.count = 1;
  FramePlacement place = fit_inside({16, 32}, {64, 64});
  place.mirror = mirror;
  write_placement(place, batch.at(tensor_names::placements).row<float>(0));
  const std::vector<AnnotatedObject> objects{{1, {2, 0, 16, 16}, 256, false}, {0, {0, 0, 32, 16}, 512, true}};
  write_objects(objects, batch.at(tensor_names::annotations).row<std::int64_t>(0));
  return batch;
}

TEST(Detection, MakesTargetsOfAnchors) {
  Batch batch = make_batch();
  Detection(TaskOptions{}).collate(batch);
  const auto labels = batch.values<std::int32_t>("anchor_labels");
  const auto weights = batch.values<float>("anchor_weights"), box_weights = batch.values<float>("box_weights");
  const auto deltas = batch.values<float>("box_targets");
  const AnchorGrid grid = make_anchors(retinanet_anchors, 64, 64);
  ASSERT_EQ(static_cast<std::int64_t>(labels.size()), grid.count());
  const auto positives = std::ranges::count(labels, 1);
  EXPECT_GT(positives, 0);
  EXPECT_EQ(std::ranges::count(labels, 0), 0) << "crowds are not learnt";
  const CornerBox object{4, 0, 36, 32};
  for (std::size_t i = 0; i < labels.size(); ++i) {
    const float share = 1 / static_cast<float>(positives);
    EXPECT_EQ(box_weights[i], labels[i] == 1 ? share : 0);
    EXPECT_TRUE(weights[i] == share || (weights[i] == 0 && labels[i] == -1));
    if (labels[i] != 1) continue;
    const CornerBox decoded = decode_box({deltas[4 * i], deltas[4 * i + 1], deltas[4 * i + 2], deltas[4 * i + 3]},
                                         grid.at(static_cast<std::int64_t>(i)));
    EXPECT_NEAR(decoded.x0, object.x0, 1e-3);
    EXPECT_NEAR(decoded.y1, object.y1, 1e-3);
  }
  EXPECT_GT(std::ranges::count(weights, 0.0f), 0) << "some are neither";
}

TEST(Detection, MirrorsTargets) {
  Batch batch = make_batch(Mirror::horizontal);
  Detection(TaskOptions{}).collate(batch);
  const auto labels = batch.values<std::int32_t>("anchor_labels");
  const auto deltas = batch.values<float>("box_targets");
  const auto at = static_cast<std::size_t>(std::ranges::find(labels, 1) - labels.begin());
  const CornerBox decoded = decode_box({deltas[4 * at], deltas[4 * at + 1], deltas[4 * at + 2], deltas[4 * at + 3]},
                                       make_anchors(retinanet_anchors, 64, 64).at(static_cast<std::int64_t>(at)));
  EXPECT_NEAR(decoded.x0, 64 - 36, 1e-3);
}

Batch make_detections() {
  Batch scores;
  scores.add(tensor_names::detections, {3, 6},
             std::vector<float>{4, 0, 36, 32, 0.9f, 1, 0, 0, 10, 80, 0.25f, 0, 0, 0, 0, 0, 0, -1});
  scores.count = 1;
  return scores;
}

TEST(DetectionMetrics, CompareInPixelsOfTheOriginalImage) {
  DetectionMetrics metrics;
  metrics.add_batch(make_batch(), 0.5, make_detections());
  const Evaluation evaluation = metrics.evaluation();
  EXPECT_EQ(evaluation.primary()->name, "map");
  EXPECT_DOUBLE_EQ(evaluation.primary_value().value(), 1);
  EXPECT_EQ(evaluation.find("map_large")->value, std::nullopt) << "there are none";
  EXPECT_EQ(evaluation.find("loss")->value, 0.5);
  EXPECT_EQ(evaluation.signature, MeanAveragePrecision().signature());
  DetectionMetrics merged;
  merged.merge(metrics.state());
  EXPECT_EQ(merged.state(), metrics.state());
  EXPECT_EQ(merged.samples(), 1);
}

TEST(Detection, AnswersWithBoxesOfTheOriginalImage) {
  const PredictionOptions form{.class_names = {"cat", "dog"}};
  const Prediction one = Detection(TaskOptions{}).predictions(make_batch(), make_detections(), form).front();
  EXPECT_EQ(one.answer, (Prediction::Json{{"dog", 1}}));
  EXPECT_EQ(one.label, one.answer);
  EXPECT_EQ(one.error, 0);
  EXPECT_EQ(one.text, "dog 0.9000 at 2,0 16x16");
  EXPECT_EQ(one.cells, (std::vector<std::string>{"0", "1"}));
  const auto& objects = one.details.at("objects");
  ASSERT_EQ(objects.size(), 2U);
  EXPECT_EQ(objects[1].at("name"), "cat");
  EXPECT_EQ(objects[1].at("box"), (Prediction::Json{0.0, 0.0, 5.0, 16.0})) << "clipped to the image";
}

}  // namespace
}  // namespace ptrain

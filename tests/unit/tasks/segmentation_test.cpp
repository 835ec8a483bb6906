// Metrics and answers of pixels, against values by hand.
#include "core/tasks/segmentation/segmentation.h"

#include "core/data/image/framing.h"
#include "core/tasks/segmentation/segmentation_metrics.h"

#include <gtest/gtest.h>

namespace ptrain {
namespace {

/// Two images of 1 x 3 pixels and three classes: answers 0 1 2 and 1 1 0.
Batch scores() {
  Batch scores;
  scores.add(tensor_names::logits, {1, 3, 3}, std::vector<float>{2, 1, 0, 0, 3, 1, 0, 0, 1, 0, 5, 1, 1, 2, 1, 4, 4, 0});
  scores.count = scores.rows();
  return scores;
}

Batch masks(const std::vector<std::int32_t>& labels) {
  Batch batch;
  batch.add(tensor_names::masks, {1, 3}, labels);
  batch.count = batch.rows();
  return batch;
}

double figure_named(const Metrics& metrics, const std::string& name) {
  for (const MetricValue& one : metrics.values()) {
    if (one.name == name) return one.value.value_or(-1);
  }
  return -2;
}

TEST(SegmentationMetrics, AreMeanIouAndPixelAccuracyWithoutUnlabelledPixels) {
  SegmentationMetrics metrics(3);
  metrics.add_batch(masks({0, 1, 1, 1, -1, 0}), 0.5, scores());
  // Class 0: 2 of 2; class 1: 2 of 3; class 2: 0 of 1.
  EXPECT_NEAR(figure_named(metrics, "miou"), (1 + 2.0 / 3 + 0) / 3, 1e-12);
  EXPECT_NEAR(figure_named(metrics, "pixel_accuracy"), 4.0 / 5, 1e-12);
  EXPECT_NEAR(figure_named(metrics, "loss"), 0.5, 1e-12);
}

TEST(SegmentationMetrics, GiveEachClassItsOverlap) {
  SegmentationMetrics metrics(3, {"sky", "sea", "sand"});
  metrics.add_batch(masks({0, 1, 1, 1, -1, 0}), 0.5, scores());
  const auto details = metrics.details();
  ASSERT_TRUE(details && details->classes.size() == 3);
  EXPECT_EQ(details->classes[1].name, "sea");
  EXPECT_EQ(details->classes[1].samples, 3);
  EXPECT_EQ(details->classes[1].answers, 2);
  EXPECT_NEAR(details->classes[1].iou.value(), 2.0 / 3, 1e-12);
  EXPECT_NEAR(details->classes[1].precision, 1, 1e-12);
  EXPECT_EQ(details->classes[2].iou, 0);
  ASSERT_EQ(details->confusion.size(), 3U);
  EXPECT_EQ(details->confusion[2].answer, "sand");
}

TEST(SegmentationMetrics, LeaveOutClassesThatDoNotOccur) {
  SegmentationMetrics metrics(3);
  Batch one = scores().slice(1, 1);
  metrics.add_batch(masks({1, 1, 0}), std::nullopt, one);
  EXPECT_EQ(figure_named(metrics, "miou"), 1);
  EXPECT_EQ(figure_named(metrics, "loss"), -1) << "not known";
}

TEST(SegmentationMetrics, OfPartsMergeToThoseOfTheWhole) {
  SegmentationMetrics whole(3), parts(3);
  whole.add_batch(masks({0, 1, 1, 1, -1, 0}), 0.5, scores());
  for (std::int64_t row = 0; row < 2; ++row) {
    SegmentationMetrics part(3);
    part.add_batch(masks({0, 1, 1, 1, -1, 0}).slice(row, 1), 0.5, scores().slice(row, 1));
    parts.merge(part.state());
  }
  EXPECT_EQ(parts.state(), whole.state());
  EXPECT_EQ(parts.samples(), 2);
}

/// One frame of 2 x 4 pixels, of which an image of 2 x 4 pixels fills the upper left 1 x 2, with logits of two classes.
struct SmallFrame {
  Batch batch, scores;

  SmallFrame() {
    batch.add(tensor_names::masks, {2, 4}, std::vector<std::int32_t>{0, 1, -1, -1, -1, -1, -1, -1});
    batch.add(placement_tensor());
    FramePlacement place;
    place.original = {2, 4};
    place.resized = {1, 2};
    write_placement(place, batch.at(tensor_names::placements).row<float>(0));
    // Class 1 is ahead by -1 and 3: at the image's columns by -1, 0, 2 and 3 (of equal ones the first class counts).
    scores.add(tensor_names::logits, {2, 4, 2}, std::vector<float>{1, 0, 0, 3, 0, 9, 0, 9, 0, 9, 0, 9, 0, 9, 0, 9});
    batch.count = scores.count = 1;
  }
};

TEST(SegmentationMetrics, AreOfLogitsResizedToTheLabelMap) {
  SmallFrame frame;
  SegmentationMetrics inside(2), whole(2);
  inside.add_batch(frame.batch, std::nullopt, frame.scores);
  EXPECT_EQ(figure_named(inside, "pixel_accuracy"), 1) << "the padding counts for nothing";
  frame.batch.label_maps = {{{2, 4}, {0, 0, 1, 1, 0, 1, -1, 1}}};
  whole.add_batch(frame.batch, std::nullopt, frame.scores);
  EXPECT_NEAR(figure_named(whole, "pixel_accuracy"), 6.0 / 7, 1e-12);
}

TEST(Segmentation, PredictsAtTheSizeOfTheImage) {
  const SmallFrame frame;
  const PredictionOptions form{.class_names = {"sky", "sea"}, .label_maps = true};
  Batch image = frame.batch.slice(0, 1);
  const auto found = Segmentation(TaskOptions{}).predictions(image, frame.scores, form);
  EXPECT_EQ(found.at(0).label_map->values, (std::vector<std::uint8_t>{0, 1})) << "as large as its labels";
  image = Batch();
  image.add("placements", placement_tensor().shape, std::vector<float>{4, 2, 2, 1, 0});
  image.count = 1;
  const auto own = Segmentation(TaskOptions{}).predictions(image, frame.scores, form);
  EXPECT_EQ(own.at(0).label_map->values, (std::vector<std::uint8_t>{0, 0, 1, 1, 0, 0, 1, 1}));
  EXPECT_FALSE(own.at(0).has_label());
}

TEST(Segmentation, AnswersTheLikeliestClassOfEachPixel) {
  const Batch answers = Segmentation(TaskOptions{}).answers(scores());
  const auto labels = answers.values<std::int32_t>(tensor_names::masks);
  EXPECT_EQ(std::vector(labels.begin(), labels.end()), (std::vector<std::int32_t>{0, 1, 2, 1, 1, 0}));
  EXPECT_EQ(answers.at(tensor_names::masks).shape(), (Shape{2, 1, 3}));
}

TEST(Segmentation, TurnsScoresOfMirrorImages) {
  const Batch turned = Segmentation(TaskOptions{}).mirrored(scores());
  const auto values = turned.values<float>(tensor_names::logits);
  EXPECT_EQ(std::vector(values.begin(), values.begin() + 9), (std::vector<float>{0, 0, 1, 0, 3, 1, 2, 1, 0}));
}

TEST(Segmentation, ReportsSharesAndThePartThatIsWrong) {
  const PredictionOptions form{.class_names = {"sky", "sea", "sand"}};
  const auto found = Segmentation(TaskOptions{}).predictions(masks({0, 1, 1, 1, 1, 0}), scores(), form);
  EXPECT_NEAR(found[0].error, 1.0 / 3, 1e-12);
  EXPECT_TRUE(found[0].is_wrong());
  EXPECT_EQ(found[0].text, "sky 0.3333, sea 0.3333, sand 0.3333");
  EXPECT_FALSE(found[1].is_wrong());
  EXPECT_EQ(found[1].error, 0);
  EXPECT_EQ(found[1].cells.size(), 3U);
  EXPECT_FALSE(found[0].label_map) << "not requested";
}

TEST(Segmentation, PredictsLabelMapsOnRequest) {
  const PredictionOptions form{.class_names = {"sky", "sea", "sand"}, .label_maps = true};
  const auto found = Segmentation(TaskOptions{}).predictions(Batch(), scores(), form);
  EXPECT_TRUE(found.empty()) << "no sample";
  const auto labelled = Segmentation(TaskOptions{}).predictions(masks({0, 1, 1, 1, 1, 0}), scores(), form);
  ASSERT_TRUE(labelled[0].label_map);
  EXPECT_EQ(labelled[0].label_map->values, (std::vector<std::uint8_t>{0, 1, 2}));
  EXPECT_EQ(labelled[0].label_map->width, 3);
}

}  // namespace
}  // namespace ptrain

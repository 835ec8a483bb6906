// Text that is found in maps of probabilities, and its matches with boxes by ICDAR's rules, against values of shapely
// (tests/golden/make_text_boxes_golden.py) and by hand.
#include "core/tasks/text_detection/text_detection.h"
#include "core/report/json_file.h"
#include "core/tasks/text_detection/find_text.h"
#include "core/tasks/text_detection/match_text.h"
#include "core/tasks/text_detection/text_detection_metrics.h"

#include <gtest/gtest.h>

#include <algorithm>
#include <cmath>

namespace ptrain {
namespace text_detection_test {

Quad to_quad(const nlohmann::json& points) {
  Quad quad;
  for (std::size_t i = 0; i < quad.size(); ++i) quad[i] = {points[i][0].get<double>(), points[i][1].get<double>()};
  return quad;
}

nlohmann::json read_golden(const char* part) {
  return read_json(PTRAIN_SOURCE_DIR "/tests/golden/text_boxes.json").at(part);
}

/// The largest distance of a corner to the other quadrilateral's nearest one.
double compute_corner_distance(const Quad& a, const Quad& b) {
  double largest = 0;
  for (const Point2d& one : a) {
    double nearest = 1e9;
    for (const Point2d& other : b) nearest = std::min(nearest, std::hypot(one.x - other.x, one.y - other.y));
    largest = std::max(largest, nearest);
  }
  return largest;
}

/// Probabilities of 0.1, and those of shapes in the pixels whose centres they contain.
std::vector<float> paint(const nlohmann::json& shapes, ImageSize size) {
  std::vector<float> probabilities(static_cast<std::size_t>(size.pixels()), 0.1f);
  for (const nlohmann::json& shape : shapes) {
    for (std::size_t i = 0; i < probabilities.size(); ++i) {
      const auto x = static_cast<double>(i % static_cast<std::size_t>(size.width)) + 0.5;
      const auto y = static_cast<double>(i / static_cast<std::size_t>(size.width)) + 0.5;
      if (contains(to_quad(shape.at("points")), {x, y})) probabilities[i] = shape.at("probability").get<float>();
    }
  }
  return probabilities;
}

TEST(FindText, FindsTheRectanglesAndScoresOfShapely) {
  const nlohmann::json golden = read_golden("texts");
  const ImageSize size(golden["height"].get<int>(), golden["width"].get<int>());
  const std::vector<FoundText> found = find_text(paint(golden["shapes"], size), size);
  ASSERT_EQ(found.size(), golden["found"].size());
  for (std::size_t i = 0; i < found.size(); ++i) {
    SCOPED_TRACE(golden["found"][i].dump());
    EXPECT_LT(compute_corner_distance(found[i].corners, to_quad(golden["found"][i]["points"])), 1e-9);
    EXPECT_NEAR(found[i].score, golden["found"][i]["score"].get<double>(), 1e-6);
  }
}

TEST(FindText, FindsNothingWhereNothingIsLikely) {
  EXPECT_TRUE(find_text(std::vector<float>(12, 0.3f), ImageSize(3, 4)).empty());
  const std::vector<FoundText> all = find_text(std::vector<float>(12, 1.0f), ImageSize(3, 4));
  ASSERT_EQ(all.size(), 1U);
  EXPECT_EQ(all[0].score, 1);
  EXPECT_NEAR(compute_area(all[0].corners), (4 + 2 * 18.0 / 14) * (3 + 2 * 18.0 / 14), 1e-9);
}

TEST(MatchText, CountsAsIcdarDoes) {
  const nlohmann::json golden = read_golden("matches");
  EXPECT_GE(golden.size(), 3U);
  for (const nlohmann::json& one : golden) {
    std::vector<TextBox> expected;
    for (const nlohmann::json& box : one["expected"]) {
      expected.push_back({to_quad(box["points"]), box["ignored"].get<bool>()});
    }
    std::vector<FoundText> found;
    for (const nlohmann::json& box : one["found"]) found.push_back({to_quad(box), 1});
    const TextMatches matches = match_text(expected, found);
    EXPECT_EQ((std::vector{matches.expected, matches.found, matches.matched}),
              one["counts"].get<std::vector<std::int64_t>>());
  }
}

TEST(MatchText, TakesEachBoxOnceAndNoneThatOverlapsByHalf) {
  const auto box = [](double left, double right) { return Quad{{{left, 0}, {right, 0}, {right, 10}, {left, 10}}}; };
  const std::vector<TextBox> expected{{box(0, 20), false}, {box(30, 50), false}, {box(60, 80), true}};
  const auto count = [&](const std::vector<FoundText>& found) {
    const TextMatches matches = match_text(expected, found);
    return std::vector{matches.expected, matches.found, matches.matched};
  };
  using Counts = std::vector<std::int64_t>;
  EXPECT_EQ(count({}), (Counts{2, 0, 0}));
  EXPECT_EQ(count({{box(0, 19), 1}, {box(1, 20), 1}}), (Counts{2, 2, 1}));
  EXPECT_EQ(count({{box(0, 10), 1}}), (Counts{2, 1, 0})) << "half of the union is not above it";
  EXPECT_EQ(count({{box(60, 79), 1}, {box(66, 84), 1}}), (Counts{2, 0, 0}));
  EXPECT_EQ(count({{box(70, 90), 1}}), (Counts{2, 1, 0})) << "half of its area is not above it";
}

constexpr int frame_side = 32;

Quad make_upright(double left, double top, double right, double bottom) {
  return {{{left, top}, {right, top}, {right, bottom}, {left, bottom}}};
}

/// Two images of 64x32 px in the upper half of the frame, the first with two boxes, one of them ignored.
Batch make_batch() {
  Batch batch(with_text_boxes({{tensor_names::images, DType::u8, {frame_side, frame_side, 3}}}, 2), 2);
  batch.count = 2;
  write_text_targets(std::vector<TextBox>{{make_upright(4, 2, 24, 12), false}, {make_upright(25, 0, 32, 16), true}},
                     frame_side, SampleRow(batch, 0));
  write_text_targets(std::vector<TextBox>{{make_upright(4, 2, 24, 12), false}}, frame_side, SampleRow(batch, 1));
  for (std::int64_t row = 0; row < 2; ++row) {
    batch.at(tensor_names::placements).row<float>(row)[0] = 64;
    batch.at(tensor_names::placements).row<float>(row)[1] = 32;
    batch.at(tensor_names::placements).row<float>(row)[2] = 32;
    batch.at(tensor_names::placements).row<float>(row)[3] = 16;
  }
  return batch;
}

/// Text of 12x4 px in the first image, and in the padding of both.
Batch make_scores() {
  constexpr std::size_t side = frame_side;
  std::vector<float> probabilities(2 * side * side);
  for (std::size_t x = 8; x < 20; ++x) {
    for (std::size_t y = 5; y < 9; ++y) probabilities[y * side + x] = 0.9f;
    for (std::size_t y = 18; y < 30; ++y) probabilities[y * side + x] = probabilities[(side + y) * side + x] = 0.9f;
  }
  Batch scores;
  scores.add(tensor_names::text_probabilities, {frame_side, frame_side}, probabilities);
  scores.count = 2;
  return scores;
}

TEST(TextDetectionMetrics, AreIcdarsOverAllImages) {
  TextDetectionMetrics metrics, other;
  metrics.add_batch(make_batch(), 0.5, make_scores());
  EXPECT_EQ(metrics.samples(), 2);
  const auto get = [](const Metrics& from, const char* name) { return from.evaluation().find(name)->value.value(); };
  EXPECT_EQ(get(metrics, "precision"), 1);
  EXPECT_EQ(get(metrics, "recall"), 0.5);
  EXPECT_NEAR(get(metrics, "hmean"), 2.0 / 3, 1e-12);
  EXPECT_EQ(get(metrics, "loss"), 0.5);
  other.merge(metrics.state());
  other.merge(metrics.state());
  EXPECT_EQ(other.samples(), 4);
  EXPECT_NEAR(get(other, "hmean"), 2.0 / 3, 1e-12);
  EXPECT_FALSE(TextDetectionMetrics().values()[0].value);
  other.add_batch(make_scores(), 0.5, make_scores());
  EXPECT_EQ(other.samples(), 4) << "a batch without boxes does not count";
}

TEST(TextDetection, PredictsBoxesInPixelsOfTheImage) {
  const auto found = TextDetection(TaskOptions{}).predictions(make_batch(), make_scores(), {});
  ASSERT_EQ(found.size(), 2U);
  EXPECT_EQ(found[0].answer, 1);
  EXPECT_EQ(found[0].label, 1);
  EXPECT_FALSE(found[0].is_wrong());
  // The sides move outwards by 48 * 1.5 / 32 px of the frame, half as large as the image.
  EXPECT_EQ(found[0].details["texts"][0]["points"].dump(), "[[12.0,6.0],[45.0,6.0],[45.0,23.0],[12.0,23.0]]");
  EXPECT_NEAR(found[0].details["texts"][0]["score"].get<double>(), 0.9, 1e-6);
  EXPECT_EQ(found[0].text, "0.9000 at 12,6 45,6 45,23 12,23");
  EXPECT_EQ(found[0].cells.at(0), "1");
  EXPECT_EQ(found[1].answer, 0);
  EXPECT_EQ(found[1].error, 1);
  EXPECT_EQ(found[1].text, "nothing");
}

TEST(TextDetection, LearnsThresholdsWhereTheModelHasThem) {
  Graph graph;
  graph.set_output(tensor_names::logits, graph.add_input("scores", {DType::f32, Shape{2, 8, 8, 1}}));
  const std::vector<Loss> losses = TextDetection(TaskOptions{}).add_losses(graph, Mode::evaluation);
  ASSERT_EQ(losses.size(), 1U);
  EXPECT_EQ(losses[0].weight, 5);
  EXPECT_EQ(graph.desc(losses[0].value).shape.rank(), 0);
  TextDetection(TaskOptions{}).postprocess(graph);
  EXPECT_EQ(graph.desc(graph.find_output(tensor_names::text_probabilities)).shape, (Shape{2, 8, 8}));
}

}  // namespace text_detection_test
}  // namespace ptrain

// Texts from the outputs of CTC, their metrics and predictions, against values by hand.
#include "core/tasks/text_recognition/text_recognition.h"

#include "core/tasks/text_recognition/ctc_decoding.h"
#include "core/tasks/text_recognition/text_recognition_metrics.h"

#include <gtest/gtest.h>

#include <cmath>

namespace ptrain {
namespace text_recognition_test {

using Classes = std::vector<std::int32_t>;

/// Logits [steps, 3] whose likeliest class of each step is given.
std::vector<float> get_logits(const Classes& path) {
  std::vector<float> logits;
  for (const std::int32_t best : path) {
    for (std::int32_t c = 0; c < 3; ++c) logits.push_back(c == best ? 2.0f : 0.0f);
  }
  return logits;
}

/// Three samples of four steps: "ab", "aa" and nothing.
Batch get_scores() {
  std::vector<float> logits;
  for (const Classes& path : {Classes{1, 1, 0, 2}, Classes{1, 0, 1, 1}, Classes{0, 0, 0, 0}}) {
    for (const float value : get_logits(path)) logits.push_back(value);
  }
  Batch scores;
  scores.add(tensor_names::logits, {4, 3}, logits);
  scores.count = scores.rows();
  return scores;
}

Batch get_labels(const Classes& characters) {
  Batch batch;
  batch.add(tensor_names::characters, {3}, characters);
  batch.count = batch.rows();
  return batch;
}

const double step_probability = 1 / (1 + 2 * std::exp(-2.0));

TEST(CtcDecoding, DropsRepetitionsAndBlanks) {
  const RecognizedText text = decode_greedily(get_logits({1, 1, 0, 1, 2, 2, 0}), 3);
  EXPECT_EQ(text.characters, (Classes{1, 1, 2}));
  EXPECT_NEAR(text.probability, step_probability, 1e-6);
  const RecognizedText nothing = decode_greedily(get_logits({0, 0}), 3);
  EXPECT_TRUE(nothing.characters.empty());
  EXPECT_EQ(nothing.probability, 0);
}

TEST(EditDistance, IsAShareOfTheLongerText) {
  const auto distance = [](const Classes& a, const Classes& b) { return compute_edit_distance(a, b); };
  EXPECT_EQ(distance({}, {}), 0);
  EXPECT_EQ(distance({1, 2, 3}, {1, 2, 3}), 0);
  EXPECT_EQ(distance({}, {1, 2}), 1);
  EXPECT_EQ(distance({1, 2, 3, 4}, {1, 3, 4}), 0.25);
  EXPECT_EQ(distance({1, 3, 4}, {1, 2, 3, 4}), 0.25);
  EXPECT_NEAR(distance({1, 2, 3}, {1, 4, 3}), 1.0 / 3, 1e-12);
  EXPECT_NEAR(distance({11, 9, 20, 20, 5, 14}, {19, 9, 20, 20, 9, 14, 7}), 3.0 / 7, 1e-12) << "kitten, sitting";
}

TEST(TextRecognitionMetrics, CountRightTextsAndEdits) {
  TextRecognitionMetrics metrics, other;
  metrics.add_batch(get_labels({1, 2, -1, 1, 2, -1, -1, -1, -1}), 0.5, get_scores());
  EXPECT_EQ(metrics.samples(), 2) << "a row without a label does not count";
  other.add_batch(get_labels({1, 2, -1, 1, 1, -1, 1, -1, -1}), 1.0, get_scores());
  metrics.merge(other.state());
  EXPECT_EQ(metrics.samples(), 5);
  const std::vector<MetricValue> values = metrics.values();
  EXPECT_NEAR(values[0].value.value(), 3.0 / 5, 1e-12);
  EXPECT_NEAR(values[0].standard_error.value(), std::sqrt(0.6 * 0.4 / 5), 1e-12);
  EXPECT_NEAR(values[1].value.value(), (0.5 + 1) / 5, 1e-12);
  EXPECT_NEAR(values[2].value.value(), (2 * 0.5 + 3 * 1.0) / 5, 1e-12);
  EXPECT_FALSE(TextRecognitionMetrics().values()[0].value);
}

TEST(TextRecognition, PredictsTextsWithTheirProbability) {
  const PredictionOptions form{.class_names = {"<blank>", "a", "é"}};
  const auto found =
      TextRecognition(TaskOptions{}).predictions(get_labels({1, 2, -1, 1, 2, -1, -1, -1, -1}), get_scores(), form);
  ASSERT_EQ(found.size(), 3U);
  EXPECT_EQ(found[0].answer, "aé");
  EXPECT_EQ(found[0].label, "aé");
  EXPECT_FALSE(found[0].is_wrong());
  EXPECT_EQ(found[0].error, 0);
  EXPECT_NEAR(found[0].probability.value(), step_probability, 1e-6);
  EXPECT_EQ(found[0].text, "aé 0.7870");
  EXPECT_EQ(found[0].details["text"], "aé");
  EXPECT_TRUE(found[1].is_wrong());
  EXPECT_EQ(found[1].error, 0.5);
  EXPECT_EQ(found[2].answer, "");
  EXPECT_FALSE(found[2].has_label());
  const auto unlabelled = TextRecognition(TaskOptions{}).predictions(get_scores(), get_scores(), form);
  EXPECT_FALSE(unlabelled[0].has_label());
}

TEST(TextRecognition, LearnsTheCharactersThatTheModelDeclares) {
  Graph graph;
  graph.set_output(tensor_names::logits, graph.add_input("scores", {DType::f32, Shape{2, 6, 5}}));
  graph.add_input(tensor_names::characters, {DType::i32, Shape{2, 3}});
  const std::vector<Loss> losses = TextRecognition(TaskOptions{}).add_losses(graph, Mode::training);
  ASSERT_EQ(losses.size(), 1U);
  EXPECT_EQ(graph.desc(losses[0].value).shape.rank(), 0);
}

}  // namespace text_recognition_test
}  // namespace ptrain

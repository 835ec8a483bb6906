// What tasks make of scores, row by row.
#include "core/data/tensor_names.h"
#include "core/tasks/classification/classification.h"
#include "core/tasks/clicks/clicks.h"
#include "core/tasks/regression/regression.h"

#include <gtest/gtest.h>

#include <cmath>
#include <limits>

namespace ptrain {
namespace {

/// Rows of `columns` scores.
Batch get_scores(std::int64_t each, const std::vector<float>& values) {
  Batch scores;
  scores.add(tensor_names::logits, {each}, values);
  scores.count = scores.rows();
  return scores;
}

TEST(Softmax, IsOneInSumAndHoldsForLargeLogits) {
  const std::vector<float> result = softmax(std::vector<float>{1000, 1001, 998});
  EXPECT_FLOAT_EQ(result[0] + result[1] + result[2], 1);
  EXPECT_FLOAT_EQ(result[1] / result[0], std::exp(1.0f));
}

TEST(Classification, RanksClassesAndReportsErrorsByConfidence) {
  const Classification task{TaskOptions{}};
  Batch batch;
  batch.add(tensor_names::labels, {}, std::vector<std::int32_t>{1, 0, -1});
  batch.sample_indices = {7, 3, 9};
  batch.count = 3;
  const PredictionOptions form{.top = 2, .class_names = {"ant", "bee", "cow"}};
  const auto found = task.predictions(batch, get_scores(3, {0, 2, 1, 0, 3, 0, 5, 5, 0}), form);
  ASSERT_EQ(found.size(), 3U);
  EXPECT_EQ(found[0].index, 7);
  EXPECT_EQ(found[0].answer, "bee");
  EXPECT_FALSE(found[0].is_wrong());
  EXPECT_EQ(found[0].error, 0);
  EXPECT_EQ(found[0].text, "bee 0.6652, cow 0.2447");
  EXPECT_EQ(found[0].cells.size(), 4U) << task.columns(form).size();
  EXPECT_TRUE(found[1].is_wrong());
  EXPECT_EQ(found[1].error, found[1].probability);
  EXPECT_NEAR(*found[1].label_probability, 1 / (2 + std::exp(3.0)), 1e-6);
  EXPECT_FALSE(found[2].has_label());
  EXPECT_EQ(found[2].answer, "ant") << "of equal ones the first";
}

TEST(Classification, OffersProbabilitiesBesideLogits) {
  const Batch answers = Classification(TaskOptions{}).answers(get_scores(2, {0, 0, 1, 3}));
  ASSERT_EQ(answers.entries().size(), 2U);
  EXPECT_EQ(answers.entries()[0].spec.name, tensor_names::logits);
  const auto probabilities = answers.values<float>(tensor_names::probabilities);
  EXPECT_FLOAT_EQ(probabilities[0], 0.5f);
  EXPECT_FLOAT_EQ(probabilities[2] + probabilities[3], 1);
}

TEST(Classification, PassesOverRowsWithoutALabel) {
  ClassificationMetrics metrics(2);
  Batch batch;
  batch.add(tensor_names::labels, {}, std::vector<std::int32_t>{1, -1});
  batch.count = 2;
  metrics.add_batch(batch, std::nullopt, get_scores(2, {0, 1, 0, 1}));
  EXPECT_EQ(metrics.samples(), 1);
}

TEST(Clicks, GiveTheFirstClassTheLogitZero) {
  const Batch scores = Clicks(TaskOptions{}).scores(get_scores(1, {2, -1}));
  const auto logits = scores.values<float>(tensor_names::logits);
  EXPECT_EQ(std::vector(logits.begin(), logits.end()), (std::vector<float>{0, 2, 0, -1}));
}

TEST(Regression, ReportsHowFarAValueIsOff) {
  Batch batch;
  batch.add(tensor_names::values, {}, std::vector<float>{3, std::numeric_limits<float>::quiet_NaN()});
  batch.count = 2;
  const auto found = Regression(TaskOptions{}).predictions(batch, get_scores(1, {2.5f, 1}), {});
  EXPECT_EQ(found[0].error, 0.5);
  EXPECT_EQ(found[0].text, "2.5000");
  EXPECT_FALSE(found[0].probability);
  EXPECT_FALSE(found[1].has_label());
}

}  // namespace
}  // namespace ptrain

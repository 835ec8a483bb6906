// Classification with several labels per sample: metrics and predictions.
#include "core/tasks/multi_label/multi_label.h"

#include "core/data/tensor_names.h"
#include "core/report/json_file.h"
#include "core/tasks/multi_label/multi_label_metrics.h"

#include <gtest/gtest.h>

#include <limits>

namespace ptrain {
namespace multi_label_test {

/// A sample's row of multi_hot_labels.
std::vector<std::int32_t> mark(const std::vector<std::int32_t>& labels, std::size_t classes) {
  std::vector<std::int32_t> marks(classes);
  for (const std::int32_t label : labels) marks[static_cast<std::size_t>(label)] = 1;
  return marks;
}

double get_value(const Metrics& metrics, const std::string& name) {
  return metrics.evaluation().find(name)->value.value();
}

TEST(MultiLabelMetrics, AreThoseOfYouTube8MsDefinitions) {
  const nlohmann::json cases = read_json(PTRAIN_SOURCE_DIR "/tests/golden/multi_label.json").at("cases");
  EXPECT_GE(cases.size(), 5u);
  for (const nlohmann::json& one : cases) {
    SCOPED_TRACE(one.at("name").get<std::string>());
    const auto logits = one.at("logits").get<std::vector<float>>();
    const auto classes = one.at("classes").get<std::size_t>();
    const auto labels = one.at("labels").get<std::vector<std::vector<std::int32_t>>>();
    MultiLabelMetrics whole, first, sum;
    for (std::size_t row = 0; row < labels.size(); ++row) {
      const auto scores = std::span(logits).subspan(row * classes, classes);
      whole.add(scores, mark(labels[row], classes));
      (row < 3 ? first : sum).add(scores, mark(labels[row], classes));
    }
    sum.merge(first.state());
    for (const char* name : {"hit_at_1", "perr", "gap"}) {
      EXPECT_NEAR(get_value(whole, name), one.at("expected").at(name).get<double>(), 1e-12) << name;
      EXPECT_NEAR(get_value(sum, name), get_value(whole, name), 1e-12) << name;
    }
  }
}

TEST(MultiLabelMetrics, NeverCountNaNAsRight) {
  constexpr float nan = std::numeric_limits<float>::quiet_NaN();
  MultiLabelMetrics metrics;
  metrics.add(std::vector<float>{nan, nan}, mark({0}, 2));
  for (const char* name : {"hit_at_1", "perr", "gap"}) EXPECT_EQ(get_value(metrics, name), 0) << name;
}

TEST(MultiLabelMetrics, CountTiesAgainstTheLabels) {
  MultiLabelMetrics metrics;
  for (const std::int32_t label : {0, 1}) metrics.add(std::vector<float>{1, 1}, mark({label}, 2));
  EXPECT_DOUBLE_EQ(get_value(metrics, "gap"), (1.0 / 3 + 2.0 / 4) / 2);
  EXPECT_DOUBLE_EQ(get_value(metrics, "hit_at_1"), 0.5) << "the first of equal ones";
}

TEST(MultiLabel, PassesOverRowsWithoutLabels) {
  Batch batch;
  batch.add(tensor_names::multi_hot_labels, {2}, std::vector<std::int32_t>{1, 0, -1, -1});
  batch.count = 2;
  Batch scores;
  scores.add(tensor_names::logits, {2}, std::vector<float>{2, 1, 0, 9});
  MultiLabelMetrics metrics;
  metrics.add_batch(batch, 0.5, scores);
  EXPECT_EQ(metrics.samples(), 1);
  EXPECT_EQ(get_value(metrics, "hit_at_1"), 1);
}

TEST(MultiLabel, PredictsProbabilitiesThatAreOfEachClassByItself) {
  const MultiLabel task{TaskOptions{}};
  Batch batch;
  batch.add(tensor_names::multi_hot_labels, {3}, std::vector<std::int32_t>{1, 1, 0, 1, 0, 1, -1, -1, -1});
  batch.count = 3;
  Batch scores;
  scores.add(tensor_names::logits, {3}, std::vector<float>{0, 2, 1, 0, 3, 1, 0, 0, 0});
  const auto found = task.predictions(batch, scores, {.top = 2, .class_names = {"ant", "bee", "cow"}});
  ASSERT_EQ(found.size(), 3u);
  EXPECT_EQ(found[0].text, "bee 0.8808, cow 0.7311");
  EXPECT_FALSE(found[0].is_wrong());
  EXPECT_TRUE(found[1].is_wrong());
  EXPECT_EQ(found[1].label, "cow") << "the most likely of its labels";
  EXPECT_FALSE(found[2].has_label());
  EXPECT_FLOAT_EQ(task.answers(scores).values<float>(tensor_names::probabilities)[0], 0.5f);
}

}  // namespace multi_label_test
}  // namespace ptrain

#include "core/data/tensor_names.h"
#include "core/report/json_file.h"
#include "core/tasks/classification/classification_metrics.h"
#include "core/tasks/find_metric.h"
#include "core/tasks/language_model/language_model_metrics.h"
#include "core/tasks/next_item/next_item_metrics.h"
#include "core/tasks/regression/regression_metrics.h"
#include "core/tasks/task_registry.h"
#include "tests/error_message.h"

#include <gtest/gtest.h>

#include <array>
#include <cmath>
#include <limits>

namespace ptrain {
namespace {

constexpr float nan = std::numeric_limits<float>::quiet_NaN();

ClassificationMetrics of(std::int64_t classes, const std::vector<float>& logits,
                         const std::vector<std::int32_t>& labels) {
  ClassificationMetrics metrics(classes, {"first"});
  metrics.add(logits, labels);
  return metrics;
}

std::optional<double> get_figure(const Metrics& metrics, const std::string& name) {
  const Evaluation evaluation = metrics.evaluation();
  const MetricValue* found = evaluation.find(name);
  return found == nullptr ? std::nullopt : found->value;
}

double get_value(const Metrics& metrics, const std::string& name) { return get_figure(metrics, name).value(); }

TEST(Metrics, CountTop1AndTop5) {
  const std::vector<float> row{6, 5, 4, 3, 2, 1};
  std::vector<float> logits;
  for (int i = 0; i < 6; ++i) logits.insert(logits.end(), row.begin(), row.end());
  const ClassificationMetrics metrics = of(6, logits, {0, 1, 2, 3, 4, 5});
  EXPECT_EQ(metrics.samples(), 6);
  EXPECT_DOUBLE_EQ(get_value(metrics, "top1"), 1.0 / 6);
  EXPECT_DOUBLE_EQ(get_value(metrics, "top5"), 5.0 / 6);
}

TEST(Metrics, BreakTiesByIndex) {
  EXPECT_DOUBLE_EQ(get_value(of(3, {1, 1, 1}, {0}), "top1"), 1.0);
  EXPECT_DOUBLE_EQ(get_value(of(3, {1, 1, 1}, {1}), "top1"), 0.0);
  EXPECT_DOUBLE_EQ(get_value(of(6, {0, 0, 0, 0, 0, 0}, {4}), "top5"), 1.0);
  EXPECT_DOUBLE_EQ(get_value(of(6, {0, 0, 0, 0, 0, 0}, {5}), "top5"), 0.0);
}

TEST(Metrics, NeverCountNaNAsRight) {
  EXPECT_DOUBLE_EQ(get_value(of(6, {nan, nan, nan, nan, nan, nan}, {0}), "top1"), 0.0);
  EXPECT_DOUBLE_EQ(get_value(of(6, {nan, nan, nan, nan, nan, nan}, {0}), "top5"), 0.0);
  EXPECT_DOUBLE_EQ(get_value(of(2, {1, nan}, {0}), "top1"), 0.0);
  EXPECT_DOUBLE_EQ(get_value(of(2, {nan, 1}, {0}), "top1"), 0.0);
}

TEST(Metrics, FiveClassesHaveNoTop5) {
  EXPECT_FALSE(get_figure(of(2, {1, 0}, {1}), "top5"));
  EXPECT_FALSE(get_figure(of(5, {1, 0, 2, 3, 4}, {1}), "top5"));
}

TEST(Metrics, F1NamesItsClass) {
  const auto title = [](const std::vector<std::string>& names) {
    const std::vector<MetricValue> values = ClassificationMetrics(2, names).values();
    return std::ranges::find(values, "f1", &MetricValue::name)->title;
  };
  EXPECT_EQ(title({"fraud", "normal"}), "F1 of class normal");
  EXPECT_EQ(title({}), "F1 of class 1");
}

TEST(Metrics, F1IsTheHarmonicMeanOfPrecisionAndRecall) {
  // Predicted 1,1,1,0,0; actual 1,1,0,1,0: precision 2/3, recall 2/3.
  const ClassificationMetrics metrics = of(2, {0, 1, 0, 1, 0, 1, 1, 0, 1, 0}, {1, 1, 0, 1, 0});
  EXPECT_DOUBLE_EQ(get_value(metrics, "f1"), 2.0 / 3);
  EXPECT_DOUBLE_EQ(get_value(metrics, "top1"), 3.0 / 5);
  EXPECT_DOUBLE_EQ(get_value(of(2, {1, 0}, {0}), "f1"), 0.0);
}

/// Truths and logits of tests/golden/metrics.json, with what scikit-learn says of them.
struct GoldenCase {
  std::string name;
  std::int64_t classes = 0;
  std::vector<float> logits;
  std::vector<std::int32_t> truths;
  nlohmann::json expected;

  ClassificationMetrics counted() const { return of(classes, logits, truths); }
};

std::vector<GoldenCase> golden_cases() {
  std::vector<GoldenCase> cases;
  const nlohmann::json golden = read_json(PTRAIN_SOURCE_DIR "/tests/golden/metrics.json");
  for (const nlohmann::json& one : golden.at("cases")) {
    GoldenCase made{one.at("name"), static_cast<std::int64_t>(one.at("logits")[0].size()), {}, {}, one.at("expected")};
    for (const nlohmann::json& row : one.at("logits")) {
      for (const nlohmann::json& logit : row) made.logits.push_back(logit.get<float>());
    }
    made.truths = one.at("truths").get<std::vector<std::int32_t>>();
    cases.push_back(std::move(made));
  }
  return cases;
}

void expect_figure(const nlohmann::json& expected, std::optional<double> figure) {
  ASSERT_EQ(figure.has_value(), !expected.is_null());
  if (!figure) return;
  EXPECT_NEAR(*figure, expected.get<double>(), 1e-12);
}

TEST(Metrics, AreScikitLearns) {
  const std::vector<GoldenCase> cases = golden_cases();
  EXPECT_GE(cases.size(), 5u);
  for (const GoldenCase& one : cases) {
    SCOPED_TRACE(one.name);
    const ClassificationMetrics metrics = one.counted();
    expect_figure(one.expected.at("accuracy"), get_figure(metrics, "top1"));
    expect_figure(one.expected.at("majority"), get_figure(metrics, "majority"));
    expect_figure(one.expected.at("macro_f1"), get_figure(metrics, "macro_f1"));
    expect_figure(one.expected.at("mcc"), get_figure(metrics, "mcc"));
    expect_figure(one.expected.at("auc"), get_figure(metrics, "auc"));
    const ClassificationReport report = metrics.details().value();
    ASSERT_EQ(report.classes.size(), one.expected.at("f1").size());
    for (std::size_t c = 0; c < report.classes.size(); ++c) {
      EXPECT_EQ(report.classes[c].name, c == 0 ? "first" : std::to_string(c));
      EXPECT_EQ(report.classes[c].samples, one.expected.at("samples")[c].get<std::int64_t>());
      expect_figure(one.expected.at("precision")[c], report.classes[c].precision);
      expect_figure(one.expected.at("recall")[c], report.classes[c].recall);
      expect_figure(one.expected.at("f1")[c], report.classes[c].f1);
    }
    nlohmann::json confusion = one.expected.at("confusion");
    const auto number = [](const std::string& name) { return name == "first" ? 0u : std::stoul(name); };
    for (const ConfusionCell& cell : report.confusion) {
      nlohmann::json& expected = confusion[number(cell.label)][number(cell.answer)];
      EXPECT_EQ(expected, cell.count);
      expected = 0;
    }
    for (const nlohmann::json& row : confusion) {
      for (const nlohmann::json& left : row) EXPECT_EQ(left, 0) << "a cell is missing";
    }
  }
}

TEST(Metrics, OfPartsAddUp) {
  for (const GoldenCase& one : golden_cases()) {
    SCOPED_TRACE(one.name);
    const auto columns = static_cast<std::size_t>(one.classes);
    ClassificationMetrics sum(one.classes, {"first"}), whole = one.counted();
    whole.add_loss(2.5, 10);
    for (const auto& [begin, end] : {std::pair<std::size_t, std::size_t>{0, 7}, {7, 7}, {7, one.truths.size()}}) {
      ClassificationMetrics part(one.classes);
      part.add(std::span(one.logits).subspan(begin * columns, (end - begin) * columns),
               std::span(one.truths).subspan(begin, end - begin));
      if (begin == 0) part.add_loss(2.5, 10);
      sum.merge(part.state());
      for (std::size_t i = 0; i < part.parts(); ++i) sum.merge_part(part.part(i));
    }
    EXPECT_EQ(sum.samples(), whole.samples());
    EXPECT_EQ(sum.mean_loss(), whole.mean_loss());
    EXPECT_EQ(write_fields(sum.evaluation()), write_fields(whole.evaluation()));
    EXPECT_EQ(write_fields(sum.details().value()), write_fields(whole.details().value()));
  }
}

TEST(Metrics, OfNothingAreAbsent) {
  EXPECT_FALSE(get_figure(ClassificationMetrics(2), "top1"));
  EXPECT_FALSE(get_figure(ClassificationMetrics(2), "majority"));
  const ClassificationMetrics undefined = of(2, {0, nan, 1, 0, 0, 1}, {0, 1, 0});
  EXPECT_FALSE(get_figure(undefined, "auc"));
  ClassificationMetrics merged = of(2, {0, 1, 1, 0}, {1, 0});
  EXPECT_TRUE(get_figure(merged, "auc"));
  merged.merge(undefined.state());
  EXPECT_FALSE(get_figure(merged, "auc"));
  EXPECT_FALSE(get_figure(of(2, {0, 1, 1, 0}, {0, 1}), "loss")) << "nobody said what the loss is";
  EXPECT_FALSE(get_figure(LanguageModelMetrics(), "perplexity"));
}

TEST(Metrics, WeighTheLossBySamples) {
  ClassificationMetrics metrics(2);
  EXPECT_DOUBLE_EQ(metrics.mean_loss(), 0.0);
  metrics.add(std::array{1.0f, 0.0f, 1.0f, 0.0f, 1.0f, 0.0f}, std::array{0, 0, 0});
  metrics.add_loss(1.0, 3);
  metrics.add(std::array{1.0f, 0.0f}, std::array{0});
  metrics.add_loss(5.0, 1);
  EXPECT_DOUBLE_EQ(metrics.mean_loss(), 2.0);
}

TEST(Metrics, OfValuesAreThoseOfSciPy) {
  const nlohmann::json cases = read_json(PTRAIN_SOURCE_DIR "/tests/golden/metrics.json").at("values");
  EXPECT_GE(cases.size(), 4u);
  for (const nlohmann::json& one : cases) {
    SCOPED_TRACE(one.at("name").get<std::string>());
    const auto values = one.at("values").get<std::vector<float>>(), truths = one.at("truths").get<std::vector<float>>();
    RegressionMetrics whole, sum;
    for (const auto& [begin, end] : {std::pair<std::size_t, std::size_t>{0, 7}, {7, 7}, {7, values.size()}}) {
      RegressionMetrics part;
      part.add(std::span(values).subspan(begin, end - begin), std::span(truths).subspan(begin, end - begin));
      sum.merge(part.state());
    }
    whole.add(values, truths);
    for (const char* name : {"pearson", "spearman", "mse"}) {
      expect_figure(one.at("expected").at(name), get_figure(whole, name));
    }
    EXPECT_EQ(write_fields(sum.evaluation()), write_fields(whole.evaluation()));
  }
}

TEST(Metrics, OfValuesThatAreNoneHaveNoCorrelation) {
  RegressionMetrics metrics;
  EXPECT_FALSE(get_figure(metrics, "mse"));
  metrics.add(std::vector<float>{1, nan, 3}, std::vector<float>{1, 2, 3});
  EXPECT_FALSE(get_figure(metrics, "pearson"));
  EXPECT_FALSE(get_figure(metrics, "spearman"));
}

Batch make_batch(std::int64_t samples) {
  Batch batch;
  batch.count = samples;
  return batch;
}

TEST(Metrics, OfRunningTextArePerplexityAndLoss) {
  LanguageModelMetrics metrics;
  metrics.add_batch(make_batch(3), 2.0, {});
  metrics.add_batch(make_batch(1), 4.0, {});
  LanguageModelMetrics all;
  all.merge(metrics.state());
  EXPECT_EQ(all.samples(), 4);
  EXPECT_DOUBLE_EQ(get_value(all, "perplexity"), std::exp(2.5));
  EXPECT_DOUBLE_EQ(get_value(all, "loss"), 2.5);
  EXPECT_FALSE(all.evaluation().primary()->higher_is_better);
}

TEST(Metrics, OfNextItemsAreRecallAndReciprocalRank) {
  Batch batch = make_batch(2), scores;
  batch.add(tensor_names::next_tokens, {4}, std::vector<std::int32_t>{7, 8, 9, -1, 1, 0, -1, -1});
  scores.add(tensor_names::target_ranks, {4}, std::vector<float>{1, 20, 21, 1, 4, 0, 1, 1});
  NextItemMetrics metrics;
  metrics.add_batch(batch, 2.0, scores);
  NextItemMetrics all;
  all.merge(metrics.state());
  EXPECT_EQ(all.samples(), 2);
  EXPECT_DOUBLE_EQ(get_value(all, "recall_at_20"), 3.0 / 5);
  EXPECT_DOUBLE_EQ(get_value(all, "mrr_at_20"), (1 + 1.0 / 20 + 1.0 / 4) / 5);
  EXPECT_DOUBLE_EQ(get_value(all, "loss"), 2.0);
  EXPECT_FALSE(get_figure(NextItemMetrics(), "recall_at_20"));
}

TEST(Metrics, HaveTheirOwnErrorsWhereThereAreFormulas) {
  const auto error_of_metric = [](const Metrics& metrics, const std::string& name) {
    return metrics.evaluation().find(name)->standard_error;
  };
  const ClassificationMetrics classes = of(2, {0, 1, 0, 1, 0, 1, 1, 0, 1, 0}, {1, 1, 0, 1, 0});
  EXPECT_NEAR(error_of_metric(classes, "top1").value(), std::sqrt(0.6 * 0.4 / 5), 1e-12);
  EXPECT_FALSE(error_of_metric(classes, "macro_f1"));
  EXPECT_TRUE(error_of_metric(classes, "auc"));
  RegressionMetrics values;
  for (int i = 0; i < 103; ++i) {
    values.add(std::vector<float>{static_cast<float>(i % 7)}, std::vector<float>{static_cast<float>(i % 5)});
  }
  const double correlation = get_value(values, "pearson");
  EXPECT_NEAR(error_of_metric(values, "pearson").value(), (1 - correlation * correlation) / 10, 1e-3);
  EXPECT_FALSE(error_of_metric(values, "mse"));
}

TEST(TaskMetrics, AreThoseThatAreMeasured) {
  for (const std::string& name : task_names()) {
    for (const std::int64_t classes : {2, 10}) {
      const std::unique_ptr<Task> task = make_task(name);
      const std::vector<MetricInfo> infos = task->metrics(classes);
      const Evaluation measured = task->make_metrics(classes, {})->evaluation();
      ASSERT_EQ(infos.size(), measured.metrics.size()) << name;
      for (std::size_t i = 0; i < infos.size(); ++i) EXPECT_EQ(infos[i].name, measured.metrics[i].name);
      EXPECT_EQ(&find_metric(infos, "primary", "key"), &infos.front());
    }
  }
}

TEST(TaskMetrics, ThePrimaryOneIsTheTasks) {
  const auto primary = [](const char* task, std::int64_t classes) {
    return make_task(task)->metrics(classes).front().name;
  };
  EXPECT_EQ(primary("classification", 2), "top1");
  EXPECT_EQ(primary("regression", 1), "pearson");
  EXPECT_EQ(primary("language_model", 1), "perplexity");
  EXPECT_EQ(primary("clicks", 2), "auc");
  EXPECT_EQ(primary("clicks", 3), "top1");
}

TEST(TaskMetrics, NamesThatTheTaskDoesNotHaveAreRefusedWithThoseItHas) {
  const std::vector<MetricInfo> metrics = make_task("language_model")->metrics(1);
  const std::string message = get_error([&] { find_metric(metrics, "top1", "output.keep_best"); }, ExitCode::usage);
  EXPECT_NE(message.find("output.keep_best: expected one of primary, perplexity, loss, got \"top1\""),
            std::string::npos)
      << message;
}

}  // namespace
}  // namespace ptrain

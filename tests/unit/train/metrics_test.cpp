#include "core/runtime/metrics.h"

#include "core/report/json_file.h"

#include <gtest/gtest.h>

#include <array>
#include <limits>

namespace ptrain {
namespace {

constexpr float nan = std::numeric_limits<float>::quiet_NaN();

ClassificationMetrics of(std::int64_t classes, const std::vector<float>& logits,
                         const std::vector<std::int32_t>& labels) {
  ClassificationMetrics metrics(classes);
  metrics.add(logits, labels);
  return metrics;
}

TEST(Metrics, CountTop1AndTop5) {
  const std::vector<float> row{6, 5, 4, 3, 2, 1};
  std::vector<float> logits;
  for (int i = 0; i < 6; ++i) logits.insert(logits.end(), row.begin(), row.end());
  const ClassificationMetrics metrics = of(6, logits, {0, 1, 2, 3, 4, 5});
  EXPECT_EQ(metrics.samples(), 6);
  EXPECT_DOUBLE_EQ(metrics.top1(), 1.0 / 6);
  EXPECT_DOUBLE_EQ(metrics.top5(), 5.0 / 6);
}

TEST(Metrics, BreakTiesByIndex) {
  EXPECT_DOUBLE_EQ(of(3, {1, 1, 1}, {0}).top1(), 1.0);
  EXPECT_DOUBLE_EQ(of(3, {1, 1, 1}, {1}).top1(), 0.0);
  EXPECT_DOUBLE_EQ(of(6, {0, 0, 0, 0, 0, 0}, {4}).top5(), 1.0);
  EXPECT_DOUBLE_EQ(of(6, {0, 0, 0, 0, 0, 0}, {5}).top5(), 0.0);
}

TEST(Metrics, NeverCountNaNAsRight) {
  EXPECT_DOUBLE_EQ(of(6, {nan, nan, nan, nan, nan, nan}, {0}).top1(), 0.0);
  EXPECT_DOUBLE_EQ(of(6, {nan, nan, nan, nan, nan, nan}, {0}).top5(), 0.0);
  EXPECT_DOUBLE_EQ(of(2, {1, nan}, {0}).top1(), 0.0);
  EXPECT_DOUBLE_EQ(of(2, {nan, 1}, {0}).top1(), 0.0);
}

TEST(Metrics, TwoClassesAlwaysHaveTheLabelInTheTop5) { EXPECT_DOUBLE_EQ(of(2, {1, 0}, {1}).top5(), 1.0); }

TEST(Metrics, F1IsTheHarmonicMeanOfPrecisionAndRecall) {
  // Predicted 1,1,1,0,0; actual 1,1,0,1,0: precision 2/3, recall 2/3.
  const ClassificationMetrics metrics = of(2, {0, 1, 0, 1, 0, 1, 1, 0, 1, 0}, {1, 1, 0, 1, 0});
  EXPECT_DOUBLE_EQ(metrics.f1(), 2.0 / 3);
  EXPECT_DOUBLE_EQ(metrics.top1(), 3.0 / 5);
  EXPECT_DOUBLE_EQ(of(2, {1, 0}, {0}).f1(), 0.0);
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
    const BalanceFigures balance = metrics.balance();
    expect_figure(one.expected.at("accuracy"), metrics.top1());
    expect_figure(one.expected.at("majority"), balance.majority);
    expect_figure(one.expected.at("macro_f1"), balance.macro_f1);
    expect_figure(one.expected.at("mcc"), balance.mcc);
    expect_figure(one.expected.at("auc"), balance.auc);
    const ClassificationReport report = metrics.report({"first"});
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
      nlohmann::json& expected = confusion[number(cell.truth)][number(cell.answer)];
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
    ClassificationMetrics sum(one.classes), whole = one.counted();
    whole.add_loss(2.5, 10);
    for (const auto& [begin, end] : {std::pair<std::size_t, std::size_t>{0, 7}, {7, 7}, {7, one.truths.size()}}) {
      ClassificationMetrics part(one.classes);
      part.add(std::span(one.logits).subspan(begin * columns, (end - begin) * columns),
               std::span(one.truths).subspan(begin, end - begin));
      if (begin == 0) part.add_loss(2.5, 10);
      sum.add_packed(part.packed());
    }
    EXPECT_EQ(sum.samples(), whole.samples());
    EXPECT_EQ(sum.top1(), whole.top1());
    EXPECT_EQ(sum.top5(), whole.top5());
    EXPECT_EQ(sum.mean_loss(), whole.mean_loss());
    EXPECT_EQ(write_fields(sum.balance()), write_fields(whole.balance()));
    EXPECT_EQ(write_fields(sum.report({})), write_fields(whole.report({})));
  }
}

TEST(Metrics, OfNothingAreAbsent) {
  EXPECT_FALSE(ClassificationMetrics(2).balance().majority.has_value());
  EXPECT_FALSE(of(2, {0, nan, 1, 0}, {0, 1}).balance().auc.has_value());
}

TEST(Metrics, WeighTheLossBySamples) {
  ClassificationMetrics metrics(2);
  EXPECT_DOUBLE_EQ(metrics.mean_loss(), 0.0);
  EXPECT_DOUBLE_EQ(metrics.top1(), 0.0);
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
      sum.add_packed(part.packed());
    }
    whole.add(values, truths);
    const ValueFigures figures = whole.figures();
    expect_figure(one.at("expected").at("pearson"), figures.pearson);
    expect_figure(one.at("expected").at("spearman"), figures.spearman);
    expect_figure(one.at("expected").at("mse"), figures.mse);
    ValueFigures of_parts = sum.figures();
    ValueFigures of_all = figures;
    EXPECT_EQ(write_fields(of_parts), write_fields(of_all));
  }
}

TEST(Metrics, OfValuesThatAreNoneHaveNoCorrelation) {
  RegressionMetrics metrics;
  EXPECT_FALSE(metrics.figures().mse);
  metrics.add(std::vector<float>{1, nan, 3}, std::vector<float>{1, 2, 3});
  EXPECT_FALSE(metrics.figures().pearson);
  EXPECT_FALSE(metrics.figures().spearman);
}

}  // namespace
}  // namespace ptrain

// What evaluations and answers came to, as reports tell it.
#pragma once

#include "core/report/fields.h"

#include <fmt/format.h>

#include <cstdint>
#include <optional>
#include <string>
#include <vector>

namespace ptrain {

/// What accuracy does not tell where classes have different numbers of samples; null where nothing was evaluated.
struct BalanceFigures {
  std::optional<double> majority;
  std::optional<double> macro_f1;
  std::optional<double> mcc;
  std::optional<double> auc;

  void describe(Fields& field) {
    field("majority", majority, "part of the samples in their most frequent class: top1 of always answering that");
    field("macro_f1", macro_f1, "mean F1 of the classes that occur, in truth or as an answer");
    field.any_sign("mcc", mcc, "Matthews correlation of truth and answers, -1 to 1; 0 for no better than chance");
    field("auc", auc, "area under the ROC curve of class 1; null unless there are two classes and samples of both");
  }
};

/// How near values come to the true ones; null where nothing was evaluated, a correlation also where the one or the
/// other are all the same.
struct ValueFigures {
  std::optional<double> pearson, spearman, mse;

  void describe(Fields& field) {
    field.about("of a regression");
    field.any_sign("pearson", pearson, "Pearson correlation of values and true ones, -1 to 1");
    field.any_sign("spearman", spearman, "Spearman's rank correlation, ties by their mean rank");
    field("mse", mse, "mean squared error");
  }
  /// "Pearson 0.9000, Spearman 0.8900"
  std::string text() const {
    const auto shown = [](std::optional<double> value) { return value ? fmt::format("{:.4f}", *value) : "-"; };
    return fmt::format("Pearson {}, Spearman {}", shown(pearson), shown(spearman));
  }
};

struct AccuracyReport : BalanceFigures {
  std::optional<double> top1;
  std::optional<double> top5;
  std::optional<double> f1;
  std::optional<double> loss;
  std::int64_t eval_samples = 0;
  std::optional<ValueFigures> values = {};
  std::optional<double> perplexity = {};

  void describe(Fields& field) {
    field("top1", top1, "0 to 1");
    field("top5", top5, "null with 5 classes or fewer");
    field("f1", f1, "of class 1; null unless two classes of text or of a table");
    BalanceFigures::describe(field);
    field.any_sign("loss", loss, "evaluation loss");
    field("eval_samples", eval_samples, "");
    field.maybe("values", values, "of a regression, which has no classes to be right about");
    field.maybe("perplexity", perplexity, "of running text, which has none either: e to the loss of a token");
  }
};

/// "perplexity 23.45"
inline std::string perplexity_text(double perplexity) { return fmt::format("perplexity {:.2f}", perplexity); }

/// The figure that an accuracy is known by: "top-1 0.7650".
inline std::string main_figure(const AccuracyReport& accuracy) {
  if (accuracy.values) return accuracy.values->text();
  if (accuracy.perplexity) return perplexity_text(*accuracy.perplexity);
  return fmt::format("top-1 {:.4f}", accuracy.top1.value_or(0));
}

/// One evaluation of the run, in order; the last one is the report's accuracy.
struct EvaluationReport {
  std::int64_t step = 0;
  std::int64_t epoch = 0;
  AccuracyReport accuracy;
  double seconds = 0;

  void describe(Fields& field) {
    field.about("one evaluation");
    field("step", step, "training steps done before it");
    field("epoch", epoch, "");
    field("seconds", seconds, "");
    field("accuracy", accuracy, "");
  }
};

/// How one class was answered; what has no samples or answers to be a part of is 0.
struct ClassReport {
  std::string name;
  std::int64_t samples = 0, answers = 0;
  double precision = 0, recall = 0, f1 = 0;

  void describe(Fields& field) {
    field.about("one class");
    field("name", name, "");
    field("samples", samples, "whose truth it is");
    field("answers", answers, "samples that it was the answer to");
    field("precision", precision, "part of the answers that are right");
    field("recall", recall, "part of the samples that are answered right");
    field("f1", f1, "harmonic mean of precision and recall");
  }
};

/// How often one class was taken for another, or for itself.
struct ConfusionCell {
  std::string truth, answer;
  std::int64_t count = 0;

  void describe(Fields& field) {
    field.about("one cell");
    field("truth", truth, "class");
    field("answer", answer, "class");
    field("count", count, "samples");
  }
};

/// Answers class by class.
struct ClassificationReport {
  std::vector<ClassReport> classes;
  std::vector<ConfusionCell> confusion;

  void describe(Fields& field) {
    field("classes", classes, "by number");
    field("confusion", confusion, "the confusion matrix's cells that are not 0, row by row; of up to 100 classes");
  }
};

/// The evaluation whose weights are kept.
struct BestReport {
  std::string metric;
  double value = 0;
  std::int64_t step = 0;
  std::int64_t epoch = 0;
  std::string folder;

  void describe(Fields& field) {
    field("metric", metric, "output.keep_best");
    field.any_sign("value", value, "");
    field("step", step, "training steps done before it");
    field("epoch", epoch, "");
    field("folder", folder, "of its weights");
  }
};

/// How long it took to get as good as was asked for.
struct TargetReport {
  std::string metric;
  double target = 0;
  std::optional<double> seconds = {};
  std::int64_t step = 0;
  double epochs = 0;

  void describe(Fields& field) {
    field("metric", metric, "train.target_metric");
    field("target", target, "train.target");
    field("seconds", seconds,
          "from the first step on, evaluations included, of all runs that were resumed; null: not "
          "reached");
    field("step", step, "steps until then, or until the end");
    field("epochs", epochs, "likewise");
  }
};

}  // namespace ptrain

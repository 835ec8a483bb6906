// What the evaluations of a run came to, as reports tell it.
#pragma once

#include "core/report/fields.h"
#include "core/report/metric.h"

#include <cstdint>
#include <optional>
#include <string>
#include <vector>

namespace ptrain {

/// One evaluation of the run, in order; the last one is the report's own.
struct EvaluationReport {
  std::int64_t step = 0;
  std::int64_t epoch = 0;
  Evaluation evaluation;
  double seconds = 0;

  void describe(Fields& field) {
    field.about("one evaluation");
    field("step", step, "training steps done before it");
    field("epoch", epoch, "");
    field("seconds", seconds, "");
    field("evaluation", evaluation, "");
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
  std::string label, answer;
  std::int64_t count = 0;

  void describe(Fields& field) {
    field.about("one cell");
    field("truth", label, "class");
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

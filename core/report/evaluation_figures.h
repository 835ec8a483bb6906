// Results of the evaluations of a run, as reports hold them.
#pragma once

#include "core/report/fields.h"
#include "core/report/metric.h"

#include <cstdint>
#include <optional>
#include <string>
#include <vector>

namespace ptrain {

/// One evaluation of the run, in order; the last is the report's own.
struct EvaluationReport {
  std::int64_t step = 0;
  std::int64_t epoch = 0;
  Evaluation evaluation;
  double seconds = 0;

  void describe(Fields& field) {
    field.about("one evaluation");
    field("step", step, "training steps before it");
    field("epoch", epoch, "");
    field("seconds", seconds, "");
    field("evaluation", evaluation, "");
  }
};

/// Metrics of one class; a ratio with denominator 0 is 0.
struct ClassReport {
  std::string name;
  std::int64_t samples = 0, answers = 0;
  double precision = 0, recall = 0, f1 = 0;
  std::optional<double> iou = {};

  void describe(Fields& field) {
    field.about("one class; of segmentation, samples are pixels");
    field("name", name, "");
    field("samples", samples, "samples with this label");
    field("answers", answers, "samples predicted as this class");
    field("precision", precision, "fraction of the predictions that are correct");
    field("recall", recall, "fraction of the samples that are predicted correctly");
    field("f1", f1, "harmonic mean of precision and recall");
    field.maybe("iou", iou, "of segmentation: intersection over union of the pixels labelled and predicted");
  }
};

/// How often one class was predicted as another, or as itself.
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

/// Metrics of each class.
struct ClassificationReport {
  std::vector<ClassReport> classes;
  std::vector<ConfusionCell> confusion;

  void describe(Fields& field) {
    field("classes", classes, "by number");
    field("confusion", confusion, "nonzero cells of the confusion matrix, row by row; for up to 100 classes");
  }
};

/// The best evaluation, whose weights are kept.
struct BestReport {
  std::string metric;
  double value = 0;
  std::int64_t step = 0;
  std::int64_t epoch = 0;
  std::string folder;

  void describe(Fields& field) {
    field("metric", metric, "output.keep_best");
    field.any_sign("value", value, "");
    field("step", step, "training steps before it");
    field("epoch", epoch, "");
    field("folder", folder, "folder of its weights");
  }
};

/// Time until the requested accuracy was reached.
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
          "from the first step, evaluations and earlier runs before a resume included; null: not "
          "reached");
    field("step", step, "steps until then, or until the end");
    field("epochs", epochs, "likewise");
  }
};

}  // namespace ptrain

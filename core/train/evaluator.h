// Evaluations of a run: runs the evaluation plans over a data set and computes metrics.
#pragma once

#include "core/config/config.h"
#include "core/data/dataset.h"
#include "core/report/evaluation_figures.h"
#include "core/tasks/task.h"
#include "core/train/plans/training_plans.h"
#include "core/train/predictions_file.h"
#include "core/train/ranks.h"
#include "core/train/train_observer.h"

#include <optional>
#include <vector>

namespace ptrain {

struct EvalResult {
  std::int64_t step = 0;  // training steps before it
  std::int64_t epoch = 0;
  std::optional<double> loss;                   // none where the task has none in evaluation
  Evaluation evaluation;                        // over all ranks
  std::optional<ClassificationReport> classes;  // of the last evaluation only
  double seconds = 0;                           // excluding compilation
  BadSamples bad_samples;                       // over all ranks; not among the evaluated
};

class Evaluator {
 public:
  /// `plans` include evaluation plans; `output` says whether predictions are kept. All but the decoders must outlive
  /// it.
  Evaluator(const EvalConfig& eval, const OutputConfig& output, TrainingPlans& plans, const Dataset& data,
            const MakeImageDecoder& decoders, Ranks& ranks, TrainObserver& observer);

  /// Evaluates the present weights after `step` steps; every rank calls it for its part of the data. A signal
  /// interrupts it: then the result is neither kept nor shown.
  EvalResult run(std::int64_t step, std::int64_t epoch);

  /// On rank 0, all ranks' predictions of the last run(), if output.predictions is set; every rank calls it.
  std::vector<Prediction> predictions() const;

  /// The metrics of the task, the primary one first.
  const std::vector<MetricInfo>& metrics() const { return metrics_; }
  /// Results of completed evaluations.
  const std::vector<EvalResult>& results() const { return results_; }

 private:
  EvalResult evaluate();
  /// Translates the batch's texts and adds them to the metrics, with their references.
  void add_translations(Translator& translator, const Batch& batch, Metrics& metrics) const;
  std::unique_ptr<Metrics> make_metrics() const;
  /// The metrics with the counts of all ranks.
  std::unique_ptr<Metrics> merge_ranks(std::unique_ptr<Metrics> counted) const;
  EvalResult make_result(const Metrics& all) const;

  const EvalConfig& eval_;
  const OutputConfig& output_;
  TrainingPlans& plans_;
  const Dataset& data_;
  LoaderOptions loader_;
  Ranks& ranks_;
  TrainObserver& observer_;
  const Task& task_;
  bool has_loss_;
  std::vector<MetricInfo> metrics_;
  std::vector<EvalResult> results_;
  std::vector<Prediction> predictions_;  // of this rank
};

}  // namespace ptrain

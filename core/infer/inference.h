// Runs a deployed model over inputs, and counts what it gets right where the label is known.
#pragma once

#include "core/data/loader/loader.h"
#include "core/infer/inference_dataset.h"
#include "core/report/evaluation_figures.h"
#include "core/report/statistics.h"
#include "core/runtime/deployed_model.h"

#include <functional>

namespace ptrain {

struct TopErrorRecord {
  std::string input, label, answer;
  std::optional<double> probability, of_truth;
  double error = 0;  // Prediction's

  void describe(Fields& field);
};

/// `ptrain.infer/2`: what a model answered, over all inputs.
struct InferenceReport {
  std::string model, device, precision;
  std::int64_t batch_size = 0, inputs = 0;
  std::vector<std::string> unread;
  double seconds = 0, inputs_per_second = 0, compile_seconds = 0;
  Statistics batch_ms;
  std::optional<Evaluation> evaluation;
  std::vector<std::string> class_names;
  std::vector<ClassReport> classes;
  std::vector<ConfusionCell> confusion;
  std::vector<TopErrorRecord> mistakes;

  void describe(Fields& field);
};

/// What reads every one of `inputs` once, in order, in the model's batches.
LoaderOptions every_input_once(const DeployedModel& model, const InferenceDataset& inputs, int workers);

struct InferenceOptions {
  PredictionOptions form;
  int workers = 2;  // threads that read inputs ahead
};

/// Calls `answered` for every input that could be read, in order, and `progress` with how many are done. Fills what the
/// inputs decide in the report. Throws Error{failed} naming an input whose scores are not finite, Interrupted.
InferenceReport run_inference(DeployedModel& model, const InferenceDataset& inputs, const InferenceOptions& options,
                              const std::function<void(const std::string& input, const Prediction& answer)>& answered,
                              const std::function<void(std::int64_t done)>& progress);

}  // namespace ptrain

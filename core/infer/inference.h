// Runs a deployed model over inputs, and computes metrics where labels are known.
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
  double error = 0;  // as in Prediction

  void describe(Fields& field);
};

/// `ptrain.infer/2`: a model's predictions over all inputs.
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

/// Options of a loader that reads each of `inputs` once, in order, in the model's batches.
LoaderOptions every_input_once(const DeployedModel& model, const InferenceDataset& inputs, int workers);

struct InferenceOptions {
  PredictionOptions form;
  int workers = 2;  // threads that read inputs ahead
};

/// Calls `on_prediction` for every readable input, in order, and `progress` with the number done. Fills the part of the
/// report that depends on the inputs. Throws Error{failed} naming an input whose scores are not finite, Interrupted.
InferenceReport run_inference(
    DeployedModel& model, const InferenceDataset& inputs, const InferenceOptions& options,
    const std::function<void(const std::string& input, const Prediction& prediction)>& on_prediction,
    const std::function<void(std::int64_t done)>& progress);

}  // namespace ptrain

// Predictions for any number of inputs up to a limit, with plans for 1, 2, 4, ... rows, each compiled when first
// needed, so that small batches need little padding.
#pragma once

#include "core/data/dataset.h"
#include "core/runtime/deployed_model.h"

namespace ptrain {

/// Random pixels, or texts of full length, the same at each call.
Batch make_synthetic_batch(const DatasetInfo& data, std::int64_t rows);

class Predictor {
 public:
  /// As DeployedModel; options.batch_size is the largest number of inputs at once.
  Predictor(Backend& backend, const Model& model, const Task& task, const TrainedWeights& weights,
            const DeployOptions& options)
      : model_(backend, model, task, weights, options) {}

  /// Compiles every plan that run() may need, and runs each once.
  void prepare(const DatasetInfo& data);

  /// The task's scores() of the `count` rows of a batch, which is padded to a plan's rows. The same inputs give the
  /// same bits. Throws Error{failed} if scores are not finite.
  Batch run(Batch& batch);

  /// Rows of the plan for that number of inputs.
  std::int64_t rows_for(std::int64_t inputs) const;
  std::int64_t most() const { return model_.batch_size(); }
  /// As DeployedModel::rows_at_once, of the largest batch.
  std::int64_t rows_at_once() { return model_.rows_at_once(most()); }
  /// As DeployedModel::outputs.
  const std::vector<TensorSpec>& outputs() const { return model_.outputs(); }
  /// The ops of the last plan that ran, with their times if DeployOptions::per_op.
  std::vector<NodeProfile> profile() const { return model_.last_plan().profile(); }

 private:
  DeployedModel model_;
};

}  // namespace ptrain

// A trained model made ready to answer: its graph without what only training needs, weights folded and packed.
#pragma once

#include "core/data/batch.h"
#include "core/model/model.h"
#include "core/passes/pipeline.h"
#include "core/runtime/plan_set.h"
#include "core/runtime/trained_model.h"

#include <set>

namespace ptrain {

struct DeployOptions {
  std::int64_t batch_size = 1;  // rows of the largest batch
  std::int64_t max_length = 0;  // tokens of the longest sequence; 0: none are read
  AmpOptions amp;
  KernelOptions kernels;           // weights are taken as constant, whatever it says
  std::set<std::string> readable;  // values of the graph that can be read after a run
  bool per_op = false;             // every op is timed
};

class DeployedModel {
 public:
  /// Reads the weights and compiles. Backend and model outlive it. Throws Error{failed} naming the file and the tensor
  /// that is missing, of another shape or not finite; OutOfMemory.
  DeployedModel(Backend& backend, const Model& model, const TrainedWeights& weights, const DeployOptions& options);
  /// `precise`, of the same model at AMP level O0 and not quantized, with what `scheme` says in 8 bits.
  DeployedModel(Backend& backend, const Model& model, const DeployedModel& precise, const QuantizationScheme& scheme,
                const DeployOptions& options);
  DeployedModel(const DeployedModel&) = delete;
  DeployedModel& operator=(const DeployedModel&) = delete;

  /// Logits [rows, classes] (of running text [rows, vocabulary], of the token behind each) of a batch of so many rows
  /// at most batch_size, of which `count` mean something. The first batch of so many rows compiles plans
  /// for them.
  std::vector<float> run(const Batch& batch);

  /// The plan of the last run(), whose outputs are the logits and DeployOptions::readable.
  const Plan& last_plan() const { return *last_plan_; }

  std::int64_t classes() const { return classes_; }
  std::int64_t batch_size() const { return options_.batch_size; }
  const Graph& graph() { return plans_.at(options_.batch_size).largest().graph(); }
  const Variables& variables() const { return variables_; }
  /// What choosing and compiling kernels took so far.
  double compile_seconds() const;

 private:
  PlanSet& plans_of(std::int64_t rows);
  Graph build(const BatchShape& shape);
  DeployedModel(Backend& backend, const Model& model, std::optional<QuantizationScheme> scheme,
                const DeployOptions& options);
  void finish();
  /// For two classes.
  bool has_one_logit() const { return model_.reads() == DataKind::table; }

  Backend& backend_;
  const Model& model_;
  std::optional<QuantizationScheme> scheme_;
  DeployOptions options_;
  std::vector<FoldedNorm> folded_;
  Variables variables_;
  ConstantStore constants_;                // the variables as the plans' kernels want them
  std::map<std::int64_t, PlanSet> plans_;  // by rows
  const Plan* last_plan_ = nullptr;
  std::optional<PlanMemory> memory_;
  std::int64_t classes_ = 0;
};

/// Throws Error{failed} naming the input whose logits they are.
void require_finite(std::span<const float> logits, const std::string& input);

/// The probabilities of one row of logits: exp(logit - max) over their sum.
std::vector<float> softmax(std::span<const float> logits);

}  // namespace ptrain

// The plans of a run, for training and for evaluation, which share variables and memory.
#pragma once

#include "core/data/dataset.h"
#include "core/model/model.h"
#include "core/passes/amp.h"
#include "core/runtime/decoding/translator.h"
#include "core/runtime/plan_set.h"
#include "core/train/phases.h"
#include "core/train/plans/step_options.h"
#include "core/train/plans/table_files.h"
#include "core/train/ranks.h"
#include "core/train/train_observer.h"

#include <optional>
#include <string>

namespace ptrain {

/// Known before memory is allocated.
struct PlannedFigures {
  bool loss_scaling = false;
  AmpSummary amp;
  std::int64_t planned_peak_bytes = 0;  // of the process
  std::int64_t optimizer_bytes = 0;     // of the variables: the optimizer's moments
  std::int64_t variable_bytes = 0, arena_bytes = 0, workspace_bytes = 0, input_bytes = 0;
  std::int64_t translator_bytes = 0;  // of what translates in evaluations
  std::int64_t table_file_bytes = 0;  // of dynamic tables in files, which are no variable_bytes
  std::int64_t parameters = 0;
  double flops_per_sample = 0;  // forward and backward
  double bytes_per_sample = 0;
  double search_seconds = 0;                       // choosing and compiling kernels, so far
  std::string search_hash;                         // over all choices of the search
  std::map<std::string, float> loss_weights = {};  // by name, for several losses
};

struct TrainingPlanOptions {
  StepOptions step;
  PipelineOptions evaluation;
  std::vector<TrainingStage> phases;
  LoaderOptions loader, evaluation_loader;  // this rank's
  ClassWeights class_weights;
  std::int64_t classes = 0;
  std::int64_t beams = 1;  // of translations in evaluations
  bool per_op = false;     // every op of training is timed
  bool numerics = false;   // every value of training is looked at
};

class TrainingPlans {
 public:
  /// `gradients` exchanges gradients with the other ranks; null: one rank. All must outlive the plans.
  TrainingPlans(TrainingPlanOptions options, Backend& backend, const Model& model, const Ranks& ranks,
                Collectives* gradients, TrainObserver& observer);
  TrainingPlans(const TrainingPlans&) = delete;
  TrainingPlans& operator=(const TrainingPlans&) = delete;

  /// Compiles plans for the first batches of the data; `evaluation` may be null. Allocates no variables or activations.
  /// Rank 0 searches for kernels while the others wait, so that searches do not disturb each other's timings and all
  /// ranks of a machine choose alike.
  void compile(const Dataset& training, const Dataset* evaluation);
  /// Allocates the variables and the plans' memory, also for later batches.
  void allocate();
  /// Call after training: adds searches during steps. `flops` were those of `samples`, which differ from the first
  /// batches' if text is packed or phases differ.
  void note_trained(double flops, std::int64_t samples);

  const TrainingPlanOptions& options() const { return options_; }
  const Task& task() const { return *options_.step.task; }
  Variables& variables() { return variables_; }
  const Variables& variables() const { return variables_; }
  PlanSet& training() { return *training_; }
  const PlanSet& training() const { return *training_; }
  PlanSet& evaluation() { return *evaluation_; }
  /// A decoder with the weights that the variables have now; null where evaluations do not translate.
  std::unique_ptr<Translator> make_translator(const Dataset& evaluation) const;
  /// Of the training plans; null without TrainingPlanOptions::numerics.
  ValueWatch* value_watch() { return value_watch_ ? &*value_watch_ : nullptr; }
  const ValueWatch* value_watch() const { return value_watch_ ? &*value_watch_ : nullptr; }

  /// Weights of the losses by name, if there are several; known once a training plan is compiled.
  const std::map<std::string, float>& loss_terms() const { return figures_.loss_weights; }
  /// By class; empty if all weigh the same.
  const std::vector<float>& class_weights() const { return class_weights_; }
  /// Whether training updates statistics over a batch's rows, padding included.
  bool has_running_statistics() const;
  bool loss_scaling() const { return figures_.loss_scaling; }
  /// Valid at any time; zeros before compile().
  PlannedFigures figures() const;

 private:
  void compile_sets(const Dataset& training, const Dataset* evaluation);
  PlanSet::Shapes training_shapes(const PlanOptions& plan);
  PlanSet::Shapes evaluation_shapes();
  /// Compiles plans for the first batches, so that few are compiled during steps; returns their mean cost.
  Cost compile_for_first_batches(PlanSet& plans, const Dataset& data, LoaderOptions options);
  bool packs_text() const {
    return model_.bucket_for({options_.loader.batch_size, {{extent_names::tokens, 1}}}, Mode::training).tokens() > 0;
  }
  bool translates(const Dataset& evaluation) const;
  DeployOptions translator_options(const DatasetInfo& data) const;
  SearchOptions search_options() const { return {.beams = options_.beams}; }
  void count_memory();
  std::int64_t count_table_file_bytes() const;
  void announce_search();
  /// Says so where train.recompute is set and no value is computed again.
  void note_useless_recompute();

  const TrainingPlanOptions options_;
  Backend& backend_;
  const Model& model_;
  const Ranks& ranks_;
  Collectives* gradients_;
  TrainObserver& observer_;
  PlannedFigures figures_;  // without search_seconds
  std::vector<float> class_weights_;
  std::optional<TableFiles> table_files_;
  Variables variables_;
  std::optional<ValueWatch> value_watch_;
  std::optional<PlanSet> training_;
  std::optional<PlanSet> evaluation_;
  std::optional<PlanMemory> memory_;
};

}  // namespace ptrain

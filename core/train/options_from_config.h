// Translates the configuration to options of each part of a run.
#pragma once

#include "core/config/config.h"
#include "core/data/factory.h"
#include "core/train/plans/training_plans.h"

namespace ptrain {

/// Settings of the data sets.
DataSettings data_settings(const Config& config);
/// Passes of the training step. `automatic` is what amp.dtype auto selects on the device.
PipelineOptions training_options(const Config& config, DType automatic);
/// Options for compiling the passes' graph to a plan: memory, kernels, recording.
PlanOptions plan_options(const Config& config);
/// The ranks that exchange gradients: dist.ranks, or 0 for a single one.
int count_exchanging_ranks(const Config& config);
/// A training step of rank `rank`, whose gradients that many ranks exchange; 0: a single rank without exchange. Throws
/// Error{usage} where model.lora.base needs weights in blocks and there are none.
StepOptions step_options(const Config& config, const Model& model, DType automatic, int exchanging_ranks = 0,
                         int rank = 0);
/// The plans and batches of one of the `ranks`. Throws as step_options does.
TrainingPlanOptions training_plan_options(const Config& config, const Model& model, DType automatic,
                                          const Ranks& ranks);

}  // namespace ptrain

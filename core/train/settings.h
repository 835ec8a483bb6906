// Translates the configuration to options of each part of a run.
#pragma once

#include "core/config/config.h"
#include "core/data/factory.h"
#include "core/data/loader/loader.h"
#include "core/exec/plan.h"
#include "core/passes/pipeline.h"
#include "core/tasks/task.h"
#include "core/train/schedule.h"

namespace ptrain {

struct StepCounts;

/// What a run is for: evaluations take no training step.
enum class OutputUse { training, evaluation };

/// Settings of the data sets.
DataSettings data_settings(const Config& config);
LoaderOptions loader_options(const Config& config, Split split);
/// The task, with training's options for its losses.
std::unique_ptr<Task> make_task(const Config& config);
/// Passes of the training step. `automatic` is what amp.dtype auto selects on the device.
PipelineOptions training_options(const Config& config, DType automatic);
/// The same with eval.amp's level.
PipelineOptions evaluation_options(const Config& config, DType automatic);
/// Options for compiling the passes' graph to a plan: memory, kernels, recording.
PlanOptions plan_options(const Config& config);
/// Options of the exchange of gradients between `world_size` ranks, and the learning rate schedule.
DistributionOptions distribution_options(const Config& config, int world_size);
Schedule make_schedule(const Config& config, const StepCounts& counts);

}  // namespace ptrain

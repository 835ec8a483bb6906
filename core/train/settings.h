// What the configuration means to each part of a run.
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

/// What the data and their loader have to know of the configuration.
DataSettings data_settings(const Config& config);
LoaderOptions loader_options(const Config& config, Split split);
/// What is learnt, with what training asks of its losses.
std::unique_ptr<Task> make_task(const Config& config);
/// Passes of the training step. `automatic` is what amp.dtype auto stands for on the device.
PipelineOptions training_options(const Config& config, DType automatic);
/// The same with eval.amp's level.
PipelineOptions evaluation_options(const Config& config, DType automatic);
/// How the passes' graph becomes a plan: memory, kernels, recording.
PlanOptions plan_options(const Config& config);
/// How gradients are exchanged between so many ranks, and the learning rate by step.
DistributionOptions distribution_options(const Config& config, int world_size);
Schedule make_schedule(const Config& config, const StepCounts& counts);

}  // namespace ptrain

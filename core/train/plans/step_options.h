// What a training step is built from, whatever it is built for: to run, or to estimate its memory, time or exchange.
#pragma once

#include "core/exec/plan.h"
#include "core/passes/pipeline.h"
#include "core/tasks/task.h"

#include <memory>

namespace ptrain {

struct StepOptions {
  std::shared_ptr<const Task> task;
  PipelineOptions passes;
  PlanOptions plan;
  std::string table_folder = {};  // of files that hold dynamic tables; empty: they are in memory

  /// The precision of matrix products.
  DType precision() const { return passes.amp.level == AmpLevel::O0 ? DType::f32 : passes.amp.dtype; }
};

/// The graph of a training step on such a batch.
inline Graph build_step(const Model& model, const StepOptions& step, const Bucket& batch) {
  return build_training_graph(build_with_losses(model, *step.task, batch, Mode::training).graph, step.passes).graph;
}

}  // namespace ptrain

// Shared by the kernels of an update step.
#pragma once

#include "core/ops/training/optimizer_buffers.h"

namespace ptrain::cuda {

/// In device memory: a step's first kernel writes it, the others read it.
struct StepState {
  StepFactors factors;
  int skip;
};

static __global__ void begin_step_kernel(OptimizerSettings settings, const float* learning_rate, const float* norm,
                                         const float* loss_scale, float* updates, UpdateCount counted,
                                         StepState* state) {
  state->skip = !begin_step(settings, learning_rate, norm, loss_scale, updates, counted, state->factors);
}

}  // namespace ptrain::cuda

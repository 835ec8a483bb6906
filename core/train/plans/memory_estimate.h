// What a training step will take, before anything runs.
#pragma once

#include "core/config/config.h"
#include "core/exec/backend.h"
#include "core/model/model.h"
#include "core/train/ranks.h"

namespace ptrain {

/// Numbers that training changes: what weights files hold but for running statistics.
std::int64_t parameter_count(const Model& model);

struct MemoryEstimate {
  std::int64_t variables = 0;  // bytes: parameters, gradients, optimizer state
  std::int64_t arena = 0;      // activations
  std::int64_t inputs = 0;
  std::int64_t total() const { return variables + arena + inputs; }
};

/// Memory of a training step on such a batch, kernels' workspace not included. `preferred`: the low precision of
/// KernelLibrary::preferred_low_precision().
MemoryEstimate estimate_memory(const Config& config, DType preferred, const Model& model, const Bucket& batch);

/// How many rows a batch of these other extents may have for its estimate to stay within `bytes`; 0 when not even one
/// does.
std::int64_t largest_batch(const Config& config, DType preferred, const Model& model, const Bucket& extents,
                           std::int64_t bytes);

/// Throws OutOfMemory, with the plan's figure and a batch that fits, unless a step of each phase and `workspace` bytes
/// beside it fit into the memory that is this rank's.
void require_memory(const Config& config, Backend& backend, const Model& model, const Ranks& ranks,
                    std::int64_t workspace);

}  // namespace ptrain

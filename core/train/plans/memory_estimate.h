// Estimates the memory of a training step before it runs.
#pragma once

#include "core/config/config.h"
#include "core/exec/backend.h"
#include "core/model/model.h"
#include "core/train/ranks.h"

namespace ptrain {

/// Number of trainable values: those in weights files without running statistics.
std::int64_t parameter_count(const Model& model);

struct MemoryEstimate {
  std::int64_t variables = 0;  // bytes: parameters, gradients, optimizer state
  std::int64_t arena = 0;      // activations
  std::int64_t inputs = 0;
  std::int64_t total() const { return variables + arena + inputs; }
};

/// Memory of a training step on such a batch, without kernels' workspace. `preferred`: the low precision of
/// KernelLibrary::preferred_low_precision().
MemoryEstimate estimate_memory(const Config& config, DType preferred, const Model& model, const Bucket& batch);

/// The largest number of rows in a batch of these other extents whose estimate stays within `bytes`; 0 when not even
/// one does.
std::int64_t largest_batch(const Config& config, DType preferred, const Model& model, const Bucket& extents,
                           std::int64_t bytes);

/// Throws OutOfMemory, with the plan's size and a batch that fits, unless a step of each phase plus `workspace` bytes
/// fits into this rank's memory.
void require_memory(const Config& config, Backend& backend, const Model& model, const Ranks& ranks,
                    std::int64_t workspace);

}  // namespace ptrain

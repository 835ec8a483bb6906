// Estimates the memory of a training step before it runs.
#pragma once

#include "core/exec/backend.h"
#include "core/model/model.h"
#include "core/train/phases.h"
#include "core/train/plans/step_options.h"
#include "core/train/ranks.h"

namespace ptrain {

/// Number of trainable values: those in weights files without running statistics.
std::int64_t parameter_count(const Model& model);

struct MemoryEstimate {
  std::int64_t variables = 0;  // bytes: parameters, gradients, optimizer state
  std::int64_t optimizer = 0;  // of these, the optimizer's moments
  std::int64_t arena = 0;      // activations
  std::int64_t inputs = 0;
  std::int64_t table_files = 0;  // in files, not in memory: dynamic tables with train.tables.folder
  std::string largest_variable;  // its name and shape
  std::int64_t total() const { return variables + arena + inputs; }
};

/// Memory of a training step on such a batch with the library's kernels, without their workspace.
MemoryEstimate estimate_memory(const StepOptions& step, const Model& model, const Bucket& batch,
                               const KernelLibrary& kernels);

/// The largest number of rows, from at least two or those of `batch` on, in a batch of its other extents whose estimate
/// stays within `bytes`; 0 when not even the fewest do.
std::int64_t largest_batch(const StepOptions& step, const Model& model, const Bucket& batch,
                           const KernelLibrary& kernels, std::int64_t bytes);

/// Host memory for writing the weights, one tensor at a time: as read and in the file's layout.
std::int64_t saving_bytes(const DeviceMemory& memory, const Model& model);

/// Throws OutOfMemory, with the plan's size and a batch that fits, or the largest variable, unless a step of each phase
/// plus `workspace` bytes fits into this rank's memory.
void require_memory(const StepOptions& step, std::span<const TrainingStage> phases, Backend& backend,
                    const Model& model, const Ranks& ranks, std::int64_t workspace);

}  // namespace ptrain

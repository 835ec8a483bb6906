// Estimates a training step's time on a GPU from its data sheet: each node takes the time of its bytes or of its
// arithmetic, whichever is longer (the roofline model: Williams, Waterman, Patterson, CACM 52(4), 2009).
#pragma once

#include "core/base/gpu_datasheet.h"
#include "core/model/model.h"
#include "core/passes/fuse_convolutions.h"
#include "core/train/plans/step_options.h"

#include <string>
#include <vector>

namespace ptrain {

/// The bottleneck of a node.
enum class Bound { memory, arithmetic, launch };
std::string_view to_string(Bound bound);

struct NodeEstimate {
  std::string name, type;
  Cost cost;           // of all its runs in a step
  double seconds = 0;  // likewise
  Bound bound = Bound::memory;
};

struct StepEstimate {
  std::vector<NodeEstimate> nodes;  // in the order of execution
  Cost cost;
  double seconds = 0;
  double samples_per_second = 0;
};

/// Estimates one run of `problem` on a GPU of these rates.
NodeEstimate estimate_node_time(const NodeProblem& problem, const GpuRates& rates, const KernelOptions& kernels);

/// Estimates a step of batches of `rows` samples on one GPU. Norms are fused into convolutions (`fusion: full`) in fp16
/// if that is predicted to be faster.
StepEstimate estimate_step_time(StepOptions options, std::int64_t rows, const Model& model, const GpuRates& rates);

}  // namespace ptrain

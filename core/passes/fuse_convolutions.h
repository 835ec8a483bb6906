// Fuses batch norms into the convolutions around them, forward and backward, as MLPerf's fastest ResNets do. A chain
//   conv2d -> batch_norm -> relu -> conv2d
// reads and writes the data between its convolutions six times in a step. Fused, it does so three times: the first
// convolution computes the sums for the norm, the second applies the norm to its input (as do its weight gradients),
// and the data gradient computes the sums of the norm's gradient.
#pragma once

#include "core/passes/autodiff.h"

#include <functional>

namespace ptrain {

/// An op with its tensor descriptors: what a backend needs to make a kernel.
struct NodeProblem {
  OpPtr op;
  std::vector<TensorDesc> inputs;  // absent_input() where absent
  std::vector<TensorDesc> outputs;
};

/// Two ways to compute the same result: separate nodes, and fused ones.
struct FusionChoice {
  std::vector<NodeProblem> separate;
  std::vector<NodeProblem> fused;
};

/// Whether to fuse; called once for each group of norms that can only be fused together (a residual block).
using FusionPolicy = std::function<bool(const FusionChoice&)>;

/// Runs on the whole graph after autodiff. Norms synchronised over ranks, and those of grouped convolutions, are left
/// alone.
Differentiated fuse_convolutions(Differentiated differentiated, const FusionPolicy& choose);

}  // namespace ptrain

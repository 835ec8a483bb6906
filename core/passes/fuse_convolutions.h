// Fuses batch norms into the convolutions around them, forward and backward: what MLPerf's fastest ResNets do. A chain
//   conv2d -> batch_norm -> relu -> conv2d
// reads and writes the data between its convolutions six times in a step; fused, the first convolution makes the sums
// that the norm needs, the second applies the norm to what it reads (as do its weight gradients), and the data gradient
// makes the sums of the norm's gradient: three times.
#pragma once

#include "core/passes/autodiff.h"

#include <functional>

namespace ptrain {

/// An op on its tensors: what a backend needs to make a kernel.
struct NodeProblem {
  OpPtr op;
  std::vector<TensorDesc> inputs;  // absent_input() where absent
  std::vector<TensorDesc> outputs;
};

/// Two ways to compute the same: the nodes as they are, and fused.
struct FusionChoice {
  std::vector<NodeProblem> separate;
  std::vector<NodeProblem> fused;
};

/// Whether to fuse; asked once for each group of norms that can only be fused together (a residual block).
using FusionPolicy = std::function<bool(const FusionChoice&)>;

/// Works on the whole graph, after autodiff. Norms synchronised over ranks, and those of grouped convolutions, stay.
Differentiated fuse_convolutions(Differentiated differentiated, const FusionPolicy& choose);

}  // namespace ptrain

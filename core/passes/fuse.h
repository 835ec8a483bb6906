// Joins chains of nodes into the fused ops: batch_norm[+add]+activation, linear+activation, conv2d with a bias+ReLU,
// dropout+add+layer_norm.
#pragma once

#include "core/graph/graph.h"

namespace ptrain {

/// The same function in fewer nodes. An intermediate that is read elsewhere, or is an output, stays as it is.
Graph fuse(const Graph& graph);

}  // namespace ptrain

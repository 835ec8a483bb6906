// Fuses chains of nodes: batch_norm[+add]+activation, linear+activation, conv2d with a bias+ReLU,
// dropout+add+layer_norm.
#pragma once

#include "core/graph/graph.h"

namespace ptrain {

/// The same function in fewer nodes. Intermediates that are outputs or have other readers are kept.
Graph fuse(const Graph& graph);

}  // namespace ptrain

// Removes everything from a graph that the kept outputs do not depend on.
#pragma once

#include "core/graph/graph.h"

#include <string>
#include <vector>

namespace ptrain {

/// `graph` with only the outputs of those names, and the nodes, inputs, parameters and states that they depend on.
/// Throws std::logic_error when there is no such output, or when they depend on a view.
Graph keep_outputs(const Graph& graph, const std::vector<std::string>& names);

}  // namespace ptrain

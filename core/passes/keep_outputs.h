// Takes out of a graph what some of its outputs do not need.
#pragma once

#include "core/graph/graph.h"

#include <string>
#include <vector>

namespace ptrain {

/// `graph` with the outputs of those names alone: without the nodes, inputs, parameters and states that none of them
/// depends on. Throws std::logic_error when there is no such output, or a view among what they need.
Graph keep_outputs(const Graph& graph, const std::vector<std::string>& names);

}  // namespace ptrain

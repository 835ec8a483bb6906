// Takes out of a graph what one of its outputs does not need.
#pragma once

#include "core/graph/graph.h"

namespace ptrain {

/// `graph` with the output of that name alone: without the nodes, inputs, parameters and states that it does not depend
/// on. Throws std::logic_error when there is no such output, or a view among what it needs.
Graph keep_output(const Graph& graph, std::string_view name);

}  // namespace ptrain

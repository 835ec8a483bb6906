// Updates that are made while backward goes on.
#pragma once

#include "core/graph/graph.h"

#include <map>

namespace ptrain {

/// What an update that stands alone is of.
struct EarlyUpdate {
  ValueId parameter;  // what forward reads
  ValueId master;
  ValueId gradient;
};

/// The graph with each of these updates, by node, as soon as its gradient is made and its parameter has been read.
Graph move_early_updates(const Graph& graph, const std::map<std::size_t, EarlyUpdate>& early);

}  // namespace ptrain

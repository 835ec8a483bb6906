// Updates that overlap with backward.
#pragma once

#include "core/graph/graph.h"

#include <map>

namespace ptrain {

/// A single-parameter update.
struct EarlyUpdate {
  ValueId parameter;  // what forward reads
  ValueId master;
  ValueId gradient;
};

/// Moves each of these updates, by node, to right after its gradient is computed and its parameter last read.
Graph move_early_updates(const Graph& graph, const std::map<std::size_t, EarlyUpdate>& early);

}  // namespace ptrain

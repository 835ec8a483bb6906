// Takes casts into the ops beside them that read and write two precisions at once.
#pragma once

#include "core/graph/graph.h"

namespace ptrain {

/// A dropout_add_layer_norm in fp32 (AMP O1) reads x in low precision where it was cast up, and writes y in low
/// precision beside fp32 where it was cast down: the same values with fewer bytes moved. Pixels that only a cast reads
/// are normalised straight to low precision.
Graph fuse_casts(const Graph& graph);

}  // namespace ptrain

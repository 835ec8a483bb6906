// Fuses casts into neighbouring ops that read and write two precisions at once.
#pragma once

#include "core/graph/graph.h"

namespace ptrain {

/// A dropout_add_layer_norm in fp32 (AMP O1) reads a cast-up x in low precision, and writes y in low precision in
/// addition to fp32 where it was cast down: the same values with fewer bytes moved. Pixels that only a cast reads are
/// normalised directly to low precision.
Graph fuse_casts(const Graph& graph);

}  // namespace ptrain

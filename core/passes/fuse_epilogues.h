// Takes what follows a convolution or a linear layer at inference into it: residual and activation.
#pragma once

#include "core/graph/graph.h"

namespace ptrain {

/// Whether a backend's convolutions add a bias and a residual and apply an activation as they store their sums.
enum class ConvolutionEpilogue { none, fused };

/// Joins linear -> activation, drops what linear layers save for a gradient, and with ConvolutionEpilogue::fused joins
/// conv2d -> activation, where nothing else reads what is between.
Graph fuse_epilogues(const Graph& graph, ConvolutionEpilogue convolutions);

}  // namespace ptrain

// Computes a language model's output layer and its loss in chunks, so that the logits of all tokens are never in memory
// at once, forward or backward.
#pragma once

#include "core/passes/autodiff.h"

namespace ptrain {

/// Fuses linear -> softmax_cross_entropy into linear_cross_entropy where the logits take at least 16 MiB in fp32, fill
/// more than one chunk and are read by nothing else.
Graph fuse_output_layer(const Graph& graph);

/// The gradient of linear_cross_entropy computes the loss too: drops the op that computes it in the forward pass, so
/// that the logits are computed once a step. What reads the loss moves after the gradient, into the backward pass. Ops
/// whose gradient depends on the loss stay as they are.
Differentiated join_loss_with_gradient(const Differentiated& differentiated);

}  // namespace ptrain

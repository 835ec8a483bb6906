// Computes a language model's output layer and its loss in chunks, so that the logits of all tokens are never in memory
// at once, forward or backward.
#pragma once

#include "core/passes/autodiff.h"

#include <functional>
#include <string_view>

namespace ptrain {

/// By a parameter's name: whether its gradient will be in low precision, so that chunks add it up in fp32 beside it.
using SumsApart = std::function<bool(std::string_view)>;

/// Fuses linear -> softmax_cross_entropy into linear_cross_entropy where the logits take at least 16 MiB in fp32, fill
/// more than one chunk, are read by nothing else and take more memory than those sums.
Graph fuse_output_layer(const Graph& graph, const SumsApart& sums_apart = {});

/// The gradient of linear_cross_entropy computes the loss too: drops the op that computes it in the forward pass, so
/// that the logits are computed once a step. What reads the loss moves after the gradient, into the backward pass. Ops
/// whose gradient depends on the loss stay as they are.
Differentiated join_loss_with_gradient(const Differentiated& differentiated);

}  // namespace ptrain

// Keeps the weights of linear layers, and the tables of embeddings, in blocks of 8 or 4 bits, which their kernels read
// as they are.
#pragma once

#include "core/base/block_format.h"
#include "core/graph/graph.h"

#include <functional>
#include <optional>

namespace ptrain {

/// The format of a parameter, by its name; none: it stays in full precision.
using BlockFormats = std::function<std::optional<BlockFormat>(std::string_view parameter)>;

/// Replaces linear and embedding nodes by block_linear and block_embedding, whose weights are variables named
/// block_weights_name(), where the weights have whole blocks in each row and a format. A parameter that other nodes
/// read too, such as BERT's embeddings, is there in both forms. Layers that training goes through (save_pre) stay.
Graph use_block_weights(const Graph& graph, const BlockFormats& formats);

/// The same for a graph with a loss: a parameter also stays where a node that does not become one of those reads it, so
/// that it is there in one form, and where its layer's outputs go to a loss, which reads the layer in chunks
/// (fuse_output_layer).
Graph use_frozen_block_weights(const Graph& graph, const BlockFormats& formats);

/// "layer.weight@q4_0"
std::string block_weights_name(std::string_view parameter, BlockFormat format);

/// The parameter and the format of a variable of such a name; none for other names.
struct BlockWeights {
  std::string parameter;
  BlockFormat format;
};
std::optional<BlockWeights> find_block_weights(std::string_view variable);

}  // namespace ptrain

// Folds batch norms at inference into the convolutions before them: running statistics are constant there, so a norm is
// a factor for every filter and a bias.
#pragma once

#include "core/graph/graph.h"

namespace ptrain {

/// The variables of a model that make up one convolution's filters and bias.
struct FoldedNorm {
  std::string filters;                      // [K,R,S,C]
  std::string bias;                         // [K], of the convolution; empty where it has none
  std::string gamma, beta, mean, variance;  // [K]
  float epsilon = 0;
  std::string folded_filters, folded_bias;  // parameters of the folded graph
};

struct FoldedGraph {
  Graph graph;
  std::vector<FoldedNorm> norms;
};

/// Makes
/// conv2d [with a bias] -> batch_norm [+ residual] [-> activation fused into the norm]
/// one conv2d with a bias and the norm's residual and activation, where nothing else reads the values in between. Norms
/// in training mode, and norms after other ops, stay.
FoldedGraph fold_batch_norms(const Graph& graph);

/// The values of one norm's variables.
struct NormValues {
  std::span<const float> gamma, beta, mean, variance;  // [K]
  float epsilon = 0;
  std::span<const float> bias = {};  // [K], of the convolution; empty where it has none
};

/// Multiplies the K filters, of filters.size() / K values each, by gamma / sqrt(variance + epsilon), computed in
/// double. Returns the bias beta + (bias - mean) gamma / sqrt(variance + epsilon).
std::vector<float> fold_norm(const NormValues& norm, std::span<float> filters);

}  // namespace ptrain
